SELECT ts, server || '__' || tool AS tool, category, missing, trace_id
FROM compression_feedback
WHERE {period} AND {of_tool}
ORDER BY ts DESC
LIMIT $limit
