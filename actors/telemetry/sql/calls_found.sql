SELECT
    ts, trace_id, server || '__' || tool AS tool, ok, error, cached, strategy, surfacing, degraded,
    original_tokens, delivered_tokens, upstream_ms, total_ms, count(*) OVER () AS found
FROM call
WHERE {period} AND {of_tool} AND {of_outcome}
ORDER BY ts DESC, trace_id
LIMIT $limit
