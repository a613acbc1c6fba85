-- A workload by its name.
INSERT INTO workload BY NAME
SELECT $workload_id::UUID AS workload_id, $name AS name, $now::TIMESTAMPTZ AS created_at
WHERE NOT EXISTS (SELECT 1 FROM workload WHERE workload_id = $workload_id::UUID);
