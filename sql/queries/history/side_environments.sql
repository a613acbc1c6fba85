-- The environments that a side was timed in.
SELECT $id AS environment_id WHERE $kind = 'environment'
UNION
SELECT environment_id::VARCHAR FROM run WHERE $kind = 'run' AND run_id = $id::UUID AND environment_id IS NOT NULL
UNION
SELECT DISTINCT environment_id::VARCHAR FROM measurement WHERE $kind = 'library' AND library_id = $id::UUID
ORDER BY environment_id;
