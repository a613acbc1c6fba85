-- Rows of the replayable benchmark file: what the baseline jobs of the run gave to hipblaslt-bench, with the call counts.
SELECT json_merge_patch(s.spec -> '$.rows[0]', json_object('call_count', p.call_count))::VARCHAR AS bench_row
FROM run_problem AS p
JOIN run_job AS r ON r.run_id = p.run_id
JOIN job AS j ON j.job_id = r.job_id AND j.kind = 'baseline' AND j.problem_id = p.problem_id
JOIN protocol AS t ON t.protocol_id = j.protocol_id AND t.role = 'baseline'
JOIN job_spec AS s ON s.job_id = j.job_id
WHERE p.run_id = $run_id::UUID
ORDER BY p.seq;
