SELECT
    count(*) AS calls,
    count(*) FILTER (ok AND NOT cached) AS live,
    count(*) FILTER (ok AND cached) AS cached,
    count(*) FILTER (NOT ok) AS failed,
    count(*) FILTER (surfacing = 'surfaced') AS surfaced,
    count(*) FILTER (degraded <> '') AS degraded,
    count(DISTINCT session) AS sessions,
    sum(original_chars) AS original_chars,
    sum(delivered_chars) AS delivered_chars,
    sum(original_chars - delivered_chars) AS saved_chars,
    sum(original_tokens) AS original_tokens,
    sum(delivered_tokens) AS delivered_tokens,
    coalesce(sum(memory_tokens), 0) AS memory_tokens,
    sum(original_tokens - delivered_tokens) AS saved_tokens,
    round(sum(original_tokens - delivered_tokens) / nullif(sum(original_tokens), 0), 4) AS saved_ratio,
    quantile_cont(total_ms, [0.5, 0.95, 0.99]) AS latency_ms,
    -- Of a call without an answer it is not known how long the upstream kept it.
    quantile_cont(total_ms - upstream_ms, [0.5, 0.95, 0.99]) FILTER (ok OR upstream_ms > 0) AS own_ms,
    min(ts) AS first_ts,
    max(ts) AS last_ts
FROM call
WHERE {period} AND {of_tool}
