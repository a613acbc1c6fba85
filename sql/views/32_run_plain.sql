-- The plain problem (packed, no epilogue) that stands for each problem of a run when kernels are tuned: library logic knows a
-- GEMM by types, transposes and M, N, batch, K alone. K of a block-scaled problem is rounded up to whole blocks, and its two
-- spellings of 32-element E8 scales are one.
CREATE OR REPLACE VIEW run_plain AS
SELECT r.run_id, r.problem_id, q.problem_id AS plain_id
FROM run_problem AS r
JOIN problem AS p ON p.problem_id = r.problem_id AND NOT p.grouped AND NOT p.swizzle_a AND NOT p.swizzle_b
JOIN problem AS q
  ON q.trans_a = p.trans_a AND q.trans_b = p.trans_b AND q.m = p.m AND q.n = p.n AND q.batch = p.batch
 AND q.k = ceil(p.k / mx_block(p.scale_a))::BIGINT * mx_block(p.scale_a)
 AND q.a_type = p.a_type AND q.b_type = p.b_type AND q.c_type = p.c_type AND q.d_type = p.d_type
 AND q.compute_type = p.compute_type
 AND q.scale_a = CASE WHEN p.scale_a < 3 THEN 0 WHEN p.scale_a = 1001 THEN 3 ELSE p.scale_a END
WHERE q.problem_id IN (SELECT problem_id FROM tuning_config_problem);
