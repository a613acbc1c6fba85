-- Block-scaled sizes of a run whose K is no whole number of blocks, with the K that was tuned in their place.
SELECT DISTINCT q.trans_a, q.trans_b, q.a_type, q.b_type, q.c_type, q.compute_type, q.scale_a AS scale, q.m, q.n, q.batch, q.k AS k_tuned, p.k
FROM run_plain AS r
JOIN problem AS p ON p.problem_id = r.problem_id
JOIN problem AS q ON q.problem_id = r.plain_id
WHERE r.run_id = $run_id::UUID AND p.k <> q.k
ORDER BY ALL;
