-- A call that got no answer waited all its time for the upstream.
WITH waits AS (
    SELECT server, ok, error, CASE WHEN upstream_ms > 0 THEN upstream_ms ELSE total_ms END AS waited
    FROM call
    WHERE NOT cached AND {period} AND {of_tool}
)
SELECT
    server,
    count(*) AS calls,
    count(*) FILTER (NOT ok) AS failed,
    count(*) FILTER (error = 'timeout') AS timeouts,
    quantile_cont(waited, [0.5, 0.95, 0.99]) AS waited_ms,
    round(sum(waited) / nullif(sum(sum(waited)) OVER (), 0), 4) AS share
FROM waits
GROUP BY server
ORDER BY waited_ms[2] DESC, server
LIMIT $limit
