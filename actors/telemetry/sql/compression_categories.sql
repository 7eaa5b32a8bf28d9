SELECT category, count(*) AS reports
FROM compression_feedback
WHERE {period} AND {of_tool}
GROUP BY category
ORDER BY reports DESC, category
