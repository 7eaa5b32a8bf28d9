SELECT
    strategy,
    count(*) AS calls,
    sum(original_tokens) AS original_tokens,
    sum(delivered_tokens) AS delivered_tokens,
    sum(original_tokens - delivered_tokens) AS saved_tokens
FROM call
WHERE ok AND {period} AND {of_tool}
GROUP BY strategy
ORDER BY saved_tokens DESC, strategy
