-- The problem of each row of a workload that was made of rows, in their order.
SELECT w.first_line AS line, c.problem_id::VARCHAR AS problem_id
FROM workload_file AS f
JOIN workload_call AS w ON w.file_id = f.file_id
JOIN call AS c ON c.call_id = w.call_id
WHERE f.workload_id = $workload_id::UUID
ORDER BY w.first_line;
