-- A response counts when one of its reads lies in the period; all its reads count then.
SELECT
    CASE WHEN grouping(tool) = 1 THEN '' ELSE any_value(server) || '__' || tool END AS tool,
    count(*) AS responses,
    count(*) FILTER (progressive) AS progressive,
    round(count(*) FILTER (follow_ups > 0) / nullif(count(*), 0), 4) AS follow_up_rate,
    round(avg(served_chars), 1) AS mean_served_chars,
    round(avg(total_chars), 1) AS mean_total_chars,
    round(avg(coverage), 4) AS mean_coverage
FROM (SELECT *, last_read AS ts FROM progressive_coverage) AS response
WHERE {period} AND {of_tool}
GROUP BY GROUPING SETS ((), (server, tool))
ORDER BY grouping(tool) DESC, responses DESC, tool
