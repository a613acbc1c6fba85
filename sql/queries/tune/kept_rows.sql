-- The GEMMs of a run to tune, each once whatever its epilogue and padding, in order of first appearance, with the fields of a
-- workload log. Why one can't be tuned as it is called stands in reason.
SELECT min(r.seq) AS seq, q.trans_a AS "transA", q.trans_b AS "transB", q.m AS "M", q.n AS "N", q.batch AS batch_count, q.k AS "K",
       q.a_type, q.b_type, q.c_type, q.d_type, q.compute_type, q.scale_a AS "scaleA", q.scale_b AS "scaleB",
       any_value(gemm_name(q)) AS gemm,
       CASE WHEN q.grouped THEN 'grouped GEMMs are not tuned'
            WHEN q.swizzle_a OR q.swizzle_b THEN 'kernels for pre-swizzled operands are not tuned'
            WHEN q.c_type <> q.d_type THEN 'C and D of different types are not tuned' END AS reason
FROM run_problem AS r
JOIN problem AS q ON q.problem_id = r.problem_id
WHERE r.run_id = $run_id::UUID AND r.kept
GROUP BY ALL
ORDER BY seq;
