-- The GEMMs of a workload as tune/kept_rows gives those of a run.
SELECT row_number() OVER (ORDER BY min(w.first_line)) - 1 AS seq, q.trans_a AS "transA", q.trans_b AS "transB", q.m AS "M", q.n AS "N",
       q.batch AS batch_count, q.k AS "K", q.a_type, q.b_type, q.c_type, q.d_type, q.compute_type, q.scale_a AS "scaleA",
       q.scale_b AS "scaleB", any_value(gemm_name(q)) AS gemm,
       CASE WHEN q.grouped THEN 'grouped GEMMs are not tuned'
            WHEN q.swizzle_a OR q.swizzle_b THEN 'kernels for pre-swizzled operands are not tuned'
            WHEN q.c_type <> q.d_type THEN 'C and D of different types are not tuned' END AS reason
FROM workload_file AS f
JOIN workload_call AS w ON w.file_id = f.file_id
JOIN call AS c ON c.call_id = w.call_id
JOIN problem AS q ON q.problem_id = c.problem_id
WHERE f.workload_id = $workload_id::UUID
GROUP BY q.trans_a, q.trans_b, q.m, q.n, q.batch, q.k, q.a_type, q.b_type, q.c_type, q.d_type, q.compute_type, q.scale_a, q.scale_b, reason
ORDER BY seq;
