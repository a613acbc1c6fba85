-- Whether a run has written its configs, and other runs that wrote configs into its folder.
SELECT coalesce(bool_or(run_id = $run_id::UUID AND TRY_CAST(summary ->> '$.configured' AS BOOLEAN)), false) AS configured,
       list(left(run_id::VARCHAR, 8) ORDER BY started_at) FILTER (
           WHERE run_id <> $run_id::UUID AND TRY_CAST(summary ->> '$.configured' AS BOOLEAN)) AS others
FROM run WHERE workdir = $workdir AND kind = 'configure';
