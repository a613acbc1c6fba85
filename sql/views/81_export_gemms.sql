-- gemms.csv: the distinct GEMMs of a run that passed keep-thr, in order of first appearance.
CREATE OR REPLACE VIEW export_gemms AS
SELECT p.run_id, min(p.seq) AS row_order, q.trans_a AS "transA", q.trans_b AS "transB", q.batch AS batch_count, q.m, q.n, q.k,
       q.a_type, q.b_type, q.c_type, q.d_type, q.compute_type, q.scale_a AS "scaleA", q.scale_b AS "scaleB"
FROM run_problem AS p
JOIN problem AS q ON q.problem_id = p.problem_id
WHERE p.kept
GROUP BY ALL;
