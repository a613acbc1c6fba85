-- A file is part of a workload, once.
INSERT INTO workload_file BY NAME
SELECT $workload_id::UUID AS workload_id, $file_id::UUID AS file_id
WHERE NOT EXISTS (
    SELECT 1 FROM workload_file WHERE workload_id = $workload_id::UUID AND file_id = $file_id::UUID);
