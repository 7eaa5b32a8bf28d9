CREATE OR REPLACE VIEW savings_by_tool AS
SELECT
    server,
    tool,
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
    round(sum(original_tokens - delivered_tokens) / nullif(sum(original_tokens), 0), 4) AS saved_ratio
FROM call
GROUP BY server, tool
ORDER BY saved_tokens DESC, server, tool;

CREATE OR REPLACE VIEW savings_by_day AS
SELECT
    CAST(ts AS DATE) AS day,
    count(*) AS calls,
    count(*) FILTER (ok AND NOT cached) AS live,
    count(*) FILTER (ok AND cached) AS cached,
    count(*) FILTER (NOT ok) AS failed,
    sum(original_tokens) AS original_tokens,
    sum(delivered_tokens) AS delivered_tokens,
    coalesce(sum(memory_tokens), 0) AS memory_tokens,
    sum(original_tokens - delivered_tokens) AS saved_tokens,
    round(sum(original_tokens - delivered_tokens) / nullif(sum(original_tokens), 0), 4) AS saved_ratio
FROM call
GROUP BY day
ORDER BY day DESC;

CREATE OR REPLACE VIEW latency_by_tool AS
SELECT
    server,
    tool,
    count(*) AS calls,
    round(quantile_cont(total_ms, 0.5), 3) AS p50_ms,
    round(quantile_cont(total_ms, 0.95), 3) AS p95_ms,
    round(quantile_cont(total_ms, 0.99), 3) AS p99_ms,
    round(quantile_cont(upstream_ms, 0.5) FILTER (upstream_ms > 0), 3) AS upstream_p50_ms,
    round(quantile_cont(total_ms - upstream_ms, 0.5) FILTER (ok OR upstream_ms > 0), 3) AS own_p50_ms
FROM call
WHERE NOT cached
GROUP BY server, tool
ORDER BY p95_ms DESC, server, tool;

CREATE OR REPLACE VIEW cache_by_tool AS
SELECT
    server,
    tool,
    count(*) AS calls,
    count(*) FILTER (cached) AS hits,
    round(count(*) FILTER (cached) / count(*), 4) AS hit_ratio
FROM call
WHERE ok
GROUP BY server, tool
ORDER BY hits DESC, server, tool;

CREATE OR REPLACE VIEW surfacing_outcomes AS
SELECT
    decision,
    count(*) AS calls,
    round(count(*) / sum(count(*)) OVER (), 4) AS share
FROM opportunity
GROUP BY decision
ORDER BY calls DESC, decision;

CREATE OR REPLACE VIEW latest_ratings AS
SELECT
    surfacing_id,
    memory_id,
    arg_max(rating, ts) AS rating,
    any_value(server) AS server,
    any_value(tool) AS tool,
    max(ts) AS ts
FROM feedback
GROUP BY surfacing_id, memory_id;

CREATE OR REPLACE VIEW memory_ratings AS
SELECT
    memory_id,
    count(*) FILTER (rating = 'helpful') AS helpful,
    count(*) FILTER (rating = 'partially_helpful') AS partially_helpful,
    count(*) FILTER (rating = 'not_relevant') AS not_relevant,
    count(*) FILTER (rating = 'already_known') AS already_known,
    max(ts) AS last_rated
FROM latest_ratings
GROUP BY memory_id
ORDER BY last_rated DESC, memory_id;

CREATE OR REPLACE VIEW progressive_coverage AS
WITH reads AS (
    SELECT
        *,
        coalesce(
            max("offset" + served_chars) OVER (
                PARTITION BY key_digest ORDER BY "offset", served_chars ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            0
        ) AS covered_before
    FROM progressive_reads
)
SELECT
    key_digest,
    any_value(server) AS server,
    any_value(tool) AS tool,
    count(*) AS reads,
    count(*) FILTER (follow_up) AS follow_ups,
    sum(served_chars) AS served_chars,
    max(total_chars) AS total_chars,
    least(1.0, sum(greatest(0, "offset" + served_chars - greatest("offset", covered_before))) / nullif(max(total_chars), 0)) AS coverage,
    bool_or(progressive) AS progressive,
    min(ts) AS first_read,
    max(ts) AS last_read
FROM reads
GROUP BY key_digest
ORDER BY last_read DESC;

CREATE OR REPLACE VIEW faults_recent AS
SELECT ts, component, what, detail, count, trace_id
FROM fault
WHERE ts > make_timestamp(epoch_us(now())) - INTERVAL 7 DAY
ORDER BY ts DESC;

CREATE OR REPLACE VIEW selection_by_ranker AS
SELECT
    ranker_version,
    count(*) AS selections,
    round(avg(candidate_count), 1) AS mean_candidates,
    count(*) FILTER (candidate_features IS NOT NULL) AS ranked,
    round(
        count(*) FILTER (candidate_features[selected_tool]['rank'] = 1)
        / nullif(count(*) FILTER (candidate_features IS NOT NULL), 0), 4
    ) AS first_ratio,
    round(avg(candidate_features[selected_tool]['rank']), 2) AS mean_rank,
    round(count(*) FILTER (ok) / nullif(count(ok), 0), 4) AS ok_ratio,
    quantile_cont(latency_ms, 0.5) AS p50_ms
FROM selection LEFT JOIN (SELECT selection_id, ok, latency_ms FROM execution) AS execution USING (selection_id)
GROUP BY ranker_version
ORDER BY ranker_version;

COMMENT ON VIEW savings_by_tool IS 'Calls, characters and estimated tokens saved per upstream tool; saved = original - delivered; delivered has the memories in it.';
COMMENT ON VIEW savings_by_day IS 'Calls and estimated tokens saved per day (UTC); saved = original - delivered; delivered has the memories in it.';
COMMENT ON VIEW latency_by_tool IS 'Milliseconds per call that was not answered from the cache; own = everything but the upstream, of calls that it answered.';
COMMENT ON VIEW cache_by_tool IS 'Share of successful calls answered from the response cache.';
COMMENT ON VIEW surfacing_outcomes IS 'How the calls that reached surfacing ended.';
COMMENT ON VIEW latest_ratings IS 'The rating that counts, per surfacing event and memory.';
COMMENT ON VIEW memory_ratings IS 'Ratings per memory; each event counts once.';
COMMENT ON VIEW progressive_coverage IS 'Per shortened response: reads, and the share of its code points that was ever served.';
COMMENT ON VIEW selection_by_ranker IS 'Per ranking cohort: how often the tool that was called ranked first, and how the calls ended.';
COMMENT ON VIEW faults_recent IS 'Faults of the last seven days, newest first.';
