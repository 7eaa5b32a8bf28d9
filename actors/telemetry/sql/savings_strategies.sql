SELECT
    strategy,
    count(*) AS calls,
    sum(original_tokens) AS original_tokens,
    sum(delivered_tokens) AS delivered_tokens,
    coalesce(sum(memory_tokens), 0) AS memory_tokens,
    sum(original_tokens - delivered_tokens) AS saved_tokens
FROM call
WHERE ok AND {period} AND {of_tool}
GROUP BY strategy
ORDER BY saved_tokens DESC, strategy
