SELECT coalesce(sum(count), 0) AS store_failures
FROM fault
WHERE component = 'compressor' AND what = 'store_failed' AND {period}
