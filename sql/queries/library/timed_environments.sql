-- Environments in which problems of a workload were timed, the one that tells most first; measured before simulated.
SELECT t.environment_id::VARCHAR AS environment_id, any_value(split_part(e.gfx, ':', 1)) AS arch,
       any_value(e.cu_count) AS cu_count, any_value(e.device_name) AS device_name, any_value(e.simulated) AS simulated,
       count(DISTINCT t.problem_id) AS n_problems
FROM timing AS t
JOIN environment AS e ON e.environment_id = t.environment_id
WHERE t.problem_id IN (
    SELECT c.problem_id FROM workload_file AS wf
    JOIN workload_call AS w ON w.file_id = wf.file_id
    JOIN call AS c ON c.call_id = w.call_id
    WHERE wf.workload_id = $workload_id::UUID)
GROUP BY t.environment_id
ORDER BY simulated, n_problems DESC, environment_id;
