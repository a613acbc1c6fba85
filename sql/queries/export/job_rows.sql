-- Bench rows of a run's jobs, named after their problems.
SELECT j.kind, t.role, concat(gemm_name(q), '_M', q.m, '_N', q.n, '_B', q.batch, '_K', q.k) AS name, row_of.seq,
       (s.spec -> concat('$.rows[', row_of.i - 1, ']'))::VARCHAR AS bench_row
FROM run_job AS r
JOIN job AS j ON j.job_id = r.job_id AND j.kind IN ('screen', 'confirm', 'compare', 'verify')
JOIN protocol AS t ON t.protocol_id = j.protocol_id
JOIN job_spec AS s ON s.job_id = j.job_id,
LATERAL (
    SELECT unnest(range(1, len((s.spec ->> '$.problem_ids')::VARCHAR[]) + 1)) AS i,
           unnest((s.spec ->> '$.problem_ids')::VARCHAR[])::UUID AS problem_id
) AS ids
JOIN run_problem AS p ON p.run_id = r.run_id AND p.problem_id = ids.problem_id
JOIN problem AS q ON q.problem_id = p.problem_id,
LATERAL (SELECT ids.i AS i, p.seq AS seq) AS row_of
WHERE r.run_id = $run_id::UUID
ORDER BY p.seq, j.job_id, row_of.i;
