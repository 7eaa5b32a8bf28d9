SELECT
    count(*) FILTER (arm = 'shown') AS events_total,
    count(DISTINCT server || '__' || tool) FILTER (arm = 'shown') AS distinct_tools,
    coalesce(sum(len(memory_ids)) FILTER (arm = 'shown'), 0) AS memories_shown,
    coalesce(sum(injected_chars) FILTER (arm = 'shown'), 0) AS injected_chars,
    count(*) FILTER (arm = 'withheld') AS withheld
FROM surfacing
WHERE {period} AND {of_tool}
