-- The distinct GEMMs of a workload with their calls, in order of first appearance, under the names of benchmark output.
SELECT q.trans_a AS "transA", q.trans_b AS "transB", q.batch AS batch_count, q.m, q.n, q.k, q.a_type, q.b_type, q.c_type, q.d_type,
       q.compute_type, q.scale_a AS "scaleA", q.scale_b AS "scaleB", sum(w.call_count)::BIGINT AS call_count
FROM workload_file AS f
JOIN workload_call AS w ON w.file_id = f.file_id
JOIN call AS c ON c.call_id = w.call_id
JOIN problem AS q ON q.problem_id = c.problem_id
WHERE f.workload_id = $workload_id::UUID
GROUP BY ALL
ORDER BY min(w.first_line);
