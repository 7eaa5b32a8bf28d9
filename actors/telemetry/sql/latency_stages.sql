SELECT
    count(*) AS calls,
    count(*) FILTER (upstream_ms > 0 AND NOT cached) AS upstream_calls,
    count(*) FILTER (compress_ms > 0) AS compress_calls,
    count(*) FILTER (surface_ms > 0) AS surface_calls,
    quantile_cont(total_ms, [0.5, 0.95, 0.99]) AS total_ms,
    quantile_cont(upstream_ms, [0.5, 0.95, 0.99]) FILTER (upstream_ms > 0 AND NOT cached) AS upstream_ms,
    quantile_cont(compress_ms, [0.5, 0.95, 0.99]) FILTER (compress_ms > 0) AS compress_ms,
    quantile_cont(surface_ms, [0.5, 0.95, 0.99]) FILTER (surface_ms > 0) AS surface_ms
FROM call
WHERE {period} AND {of_tool}
