SELECT name FROM workload WHERE workload_id = $workload_id::UUID;
