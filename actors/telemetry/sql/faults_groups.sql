SELECT component, what, sum(count) AS count, max(ts) AS last_ts, arg_max(detail, ts) AS last_detail
FROM fault
WHERE {period}
GROUP BY component, what
ORDER BY last_ts DESC, component, what
