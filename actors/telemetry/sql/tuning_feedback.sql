SELECT
    server || '__' || tool AS tool,
    count(*) AS feedback,
    count(*) FILTER (rating = 'helpful') AS helpful,
    count(*) FILTER (rating = 'partially_helpful') AS partially_helpful,
    count(*) FILTER (rating = 'not_relevant') AS not_relevant,
    count(*) FILTER (rating = 'already_known') AS already_known,
    round(count(*) FILTER (rating = 'helpful') / count(*), 4) AS helpful_ratio,
    round(count(*) FILTER (rating IN ('not_relevant', 'already_known')) / count(*), 4) AS negative_ratio
FROM latest_ratings
WHERE {period} AND {of_tool}
GROUP BY ALL
ORDER BY feedback DESC, tool
