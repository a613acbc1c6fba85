-- Fix what a run works on: each problem once, with its calls summed over the workload's files, in order of appearance.
INSERT INTO run_problem (run_id, problem_id, seq, call_count)
SELECT $run_id::UUID, problem_id, row_number() OVER (ORDER BY min(file_seq), min(first_line), problem_id) - 1, sum(call_count)
FROM (
    SELECT c.problem_id, w.call_count, w.first_line,
           dense_rank() OVER (ORDER BY f.path, f.sha256) AS file_seq
    FROM workload_file AS wf
    JOIN ingest_file AS f ON f.file_id = wf.file_id
    JOIN workload_call AS w ON w.file_id = wf.file_id
    JOIN call AS c ON c.call_id = w.call_id
    WHERE wf.workload_id = $workload_id::UUID
)
WHERE NOT EXISTS (SELECT 1 FROM run_problem WHERE run_id = $run_id::UUID)
GROUP BY problem_id;
