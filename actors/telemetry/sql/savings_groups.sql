SELECT
    CASE $by WHEN 'tool' THEN server || '__' || tool WHEN 'server' THEN server ELSE strftime(ts, '%Y-%m-%d') END AS key,
    count(*) AS calls,
    count(*) FILTER (ok AND NOT cached) AS live,
    count(*) FILTER (ok AND cached) AS cached,
    count(*) FILTER (NOT ok) AS failed,
    sum(original_chars) AS original_chars,
    sum(delivered_chars) AS delivered_chars,
    sum(original_chars - delivered_chars) AS saved_chars,
    sum(original_tokens) AS original_tokens,
    sum(delivered_tokens) AS delivered_tokens,
    sum(original_tokens - delivered_tokens) AS saved_tokens,
    round(sum(original_tokens - delivered_tokens) / nullif(sum(original_tokens), 0), 4) AS saved_ratio,
    quantile_cont(total_ms, [0.5, 0.95, 0.99]) AS latency_ms,
    count(*) OVER () AS groups_total
FROM call
WHERE {period} AND {of_tool}
GROUP BY key
ORDER BY CASE WHEN $by = 'day' THEN key END DESC, saved_tokens DESC, calls DESC, key
LIMIT $limit
