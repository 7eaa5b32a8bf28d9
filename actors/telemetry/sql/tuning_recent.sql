SELECT ts, tool, old, new, reason
FROM tuning
WHERE {period} AND {of_key}
ORDER BY ts DESC
LIMIT $limit
