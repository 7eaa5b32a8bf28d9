SELECT surfacing AS decision, count(*) AS calls
FROM call
WHERE {period} AND {of_tool}
GROUP BY decision
ORDER BY calls DESC, decision
