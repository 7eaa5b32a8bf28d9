SELECT tool, arg_max(new, ts) AS min_score, arg_min(old, ts) AS started_at, count(*) AS changes, max(ts) AS last_ts, arg_max(reason, ts) AS last_reason
FROM tuning
WHERE {period} AND {of_key}
GROUP BY tool
ORDER BY last_ts DESC, tool
