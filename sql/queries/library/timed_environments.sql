-- Environments in which problems of a workload were timed, measured before simulated; first where GEKO took its baseline, then where
-- most of it was timed. Files that only prove what an application used (`geko verify-applied`) have no say.
SELECT t.environment_id::VARCHAR AS environment_id, any_value(split_part(e.gfx, ':', 1)) AS arch,
       any_value(e.cu_count) AS cu_count, any_value(e.device_name) AS device_name, any_value(e.simulated) AS simulated,
       count(DISTINCT t.problem_id) AS n_problems, count(DISTINCT t.problem_id) FILTER (WHERE t.role = 'baseline') AS n_baselines
FROM timing AS t
JOIN environment AS e ON e.environment_id = t.environment_id
WHERE t.problem_id IN (
    SELECT c.problem_id FROM workload_file AS wf
    JOIN workload_call AS w ON w.file_id = wf.file_id
    JOIN call AS c ON c.call_id = w.call_id
    WHERE wf.workload_id = $workload_id::UUID)
  AND NOT EXISTS (SELECT 1 FROM ingest_file AS f WHERE f.file_id = t.file_id AND (f.detail ->> '$.purpose') = 'applied')
GROUP BY t.environment_id
ORDER BY simulated, n_baselines DESC, n_problems DESC, environment_id;
