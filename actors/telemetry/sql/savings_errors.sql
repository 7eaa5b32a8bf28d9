SELECT error, count(*) AS calls
FROM call
WHERE NOT ok AND {period} AND {of_tool}
GROUP BY error
ORDER BY calls DESC, error
