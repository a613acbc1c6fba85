-- The last finished run that has results, or the run whose id starts with $prefix.
SELECT run_id::VARCHAR AS run_id FROM run
WHERE if($prefix = '', state = 'finished' AND kind NOT IN ('configure', 'guard'), starts_with(run_id::VARCHAR, lower($prefix)) OR label = $prefix)
ORDER BY coalesce(ended_at, started_at) DESC, run_id LIMIT 2;
