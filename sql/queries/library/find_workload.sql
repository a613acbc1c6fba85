-- Workloads of a name.
SELECT workload_id::VARCHAR AS workload_id, name FROM workload WHERE name = $name;
