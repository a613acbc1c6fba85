-- Whole outputs of a run's programs of one kind of job, each once, in order of the first problem that it serves.
SELECT o.output_id::VARCHAR AS output_id, any_value(o.text) AS text, min(p.seq) AS first_seq, max(p.seq) AS last_seq,
       arg_min(concat(gemm_name(q), '_M', q.m, '_N', q.n, '_B', q.batch, '_K', q.k), p.seq) AS name
FROM run_job AS r
JOIN job AS j ON j.job_id = r.job_id AND j.kind = $kind
JOIN protocol AS t ON t.protocol_id = j.protocol_id AND t.role = $role
JOIN job_attempt AS a ON a.job_id = j.job_id AND NOT a.late
JOIN output AS o ON o.output_id = a.output_id
JOIN job_spec AS s ON s.job_id = j.job_id
JOIN run_problem AS p ON p.run_id = r.run_id AND list_contains((s.spec ->> '$.problem_ids')::VARCHAR[], p.problem_id::VARCHAR)
JOIN problem AS q ON q.problem_id = p.problem_id
WHERE r.run_id = $run_id::UUID
GROUP BY o.output_id
ORDER BY first_seq, output_id;
