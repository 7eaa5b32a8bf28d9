-- Quantiles are the dearest part, so they are taken of the groups that are shown only.
WITH calls AS NOT MATERIALIZED (
    SELECT *, CAST(ts AS DATE) AS day FROM call WHERE {period} AND {of_tool}
),
groups AS (
    SELECT
        {dimensions},
        count(*) AS calls,
        count(*) FILTER (ok AND NOT cached) AS live,
        count(*) FILTER (ok AND cached) AS cached,
        count(*) FILTER (NOT ok) AS failed,
        sum(original_chars) AS original_chars,
        sum(delivered_chars) AS delivered_chars,
        sum(original_chars - delivered_chars) AS saved_chars,
        sum(original_tokens) AS original_tokens,
        sum(delivered_tokens) AS delivered_tokens,
        coalesce(sum(memory_tokens), 0) AS memory_tokens,
        sum(original_tokens - delivered_tokens) AS saved_tokens,
        round(sum(original_tokens - delivered_tokens) / nullif(sum(original_tokens), 0), 4) AS saved_ratio,
        count(*) OVER () AS groups_total
    FROM calls
    GROUP BY {dimensions}
    ORDER BY {first}, calls DESC, {dimensions}
    LIMIT $limit
),
latencies AS (
    SELECT {dimensions}, quantile_cont(total_ms, [0.5, 0.95, 0.99]) AS latency_ms
    FROM calls SEMI JOIN groups USING ({dimensions})
    GROUP BY {dimensions}
)
SELECT {key} AS key, groups.* EXCLUDE ({dimensions}), latency_ms
FROM groups JOIN latencies USING ({dimensions})
ORDER BY {first}, calls DESC, {dimensions}
