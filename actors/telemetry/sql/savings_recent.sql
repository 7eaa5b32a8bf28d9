SELECT ts, server || '__' || tool AS tool, ok, error, cached, strategy, original_chars, delivered_chars, surfacing, total_ms
FROM call
WHERE {period} AND {of_tool}
ORDER BY ts DESC
LIMIT $limit
