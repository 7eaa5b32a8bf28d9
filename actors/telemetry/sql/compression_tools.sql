SELECT server || '__' || tool AS tool, count(*) AS reports, max(ts) AS last_ts
FROM compression_feedback
WHERE {period} AND {of_tool}
GROUP BY ALL
ORDER BY reports DESC, tool
