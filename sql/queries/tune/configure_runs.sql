-- The last runs that wrote tuning configs.
SELECT left(run_id::VARCHAR, 8) AS run, label, workdir FROM run
WHERE kind = 'configure' AND TRY_CAST(summary ->> '$.configured' AS BOOLEAN)
ORDER BY started_at DESC, run_id LIMIT 5;
