SELECT
    count(*) AS reads,
    coalesce(sum(served_chars) FILTER (NOT follow_up), 0) AS initial_payload_chars,
    coalesce(sum(served_chars) FILTER (follow_up), 0) AS follow_up_payload_chars,
    count(*) FILTER (follow_up IS NULL) AS unclassified_legacy_reads
FROM progressive_reads
WHERE {period} AND {of_tool}
