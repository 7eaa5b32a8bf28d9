WITH events AS (
    SELECT server, tool, count(*) AS events, sum(len(memory_ids)) AS memories, sum(injected_chars) AS injected_chars, max(ts) AS last_ts
    FROM surfacing
    WHERE arm = 'shown' AND {period} AND {of_tool}
    GROUP BY server, tool
),
ratings AS (
    SELECT
        server,
        tool,
        count(*) AS total,
        count(*) FILTER (rating = 'helpful') AS helpful,
        count(*) FILTER (rating = 'partially_helpful') AS partially_helpful,
        count(*) FILTER (rating = 'not_relevant') AS not_relevant,
        count(*) FILTER (rating = 'already_known') AS already_known
    FROM latest_ratings
    WHERE {period} AND {of_tool}
    GROUP BY server, tool
)
SELECT
    server || '__' || tool AS tool,
    coalesce(events, 0) AS events,
    coalesce(memories, 0) AS memories,
    coalesce(injected_chars, 0) AS injected_chars,
    coalesce(total, 0) AS feedback,
    coalesce(helpful, 0) AS helpful,
    coalesce(partially_helpful, 0) AS partially_helpful,
    coalesce(not_relevant, 0) AS not_relevant,
    coalesce(already_known, 0) AS already_known,
    round(helpful / total, 4) AS helpful_ratio,
    last_ts
FROM events FULL JOIN ratings USING (server, tool)
ORDER BY events DESC, feedback DESC, tool
