-- The last run that wrote configs into a folder, or the one whose id starts with $prefix.
SELECT run_id::VARCHAR AS run_id, kind, label, workdir, workload_id::VARCHAR AS workload_id, options::VARCHAR AS options,
       coalesce(TRY_CAST(summary ->> '$.configured' AS BOOLEAN), false) AS configured
FROM run
WHERE if($prefix = '', workdir = $workdir AND kind IN ('configure', 'tune'), starts_with(run_id::VARCHAR, lower($prefix)))
ORDER BY kind, started_at DESC, run_id LIMIT 3;
