SELECT ts, component, what, detail, count, trace_id
FROM fault
WHERE {period}
ORDER BY ts DESC
LIMIT $limit
