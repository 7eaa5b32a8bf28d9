WITH recent AS (
    SELECT ts, surfacing_id, server || '__' || tool AS tool, memory_ids, relevance, injected_chars, trace_id
    FROM surfacing
    WHERE arm = 'shown' AND {period} AND {of_tool}
    ORDER BY ts DESC
    LIMIT $limit
),
latest AS (
    SELECT surfacing_id, memory_id, arg_max(rating, ts) AS rating
    FROM feedback
    WHERE surfacing_id IN (SELECT surfacing_id FROM recent)
    GROUP BY surfacing_id, memory_id
),
ratings AS (
    SELECT surfacing_id, map_from_entries(list((memory_id, rating) ORDER BY memory_id)) AS ratings
    FROM latest
    GROUP BY surfacing_id
)
SELECT recent.*, coalesce(ratings, MAP {}) AS ratings
FROM recent LEFT JOIN ratings USING (surfacing_id)
ORDER BY ts DESC
