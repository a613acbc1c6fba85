-- Workloads of other runs that wrote into a folder.
SELECT DISTINCT w.name FROM run AS r JOIN workload AS w ON w.workload_id = r.workload_id
WHERE r.workdir = $workdir AND r.workload_id <> $workload_id::UUID ORDER BY w.name;
