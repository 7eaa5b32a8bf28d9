SELECT decision, count(*) AS calls
FROM opportunity
WHERE {period} AND {of_tool}
GROUP BY decision
ORDER BY calls DESC, decision
