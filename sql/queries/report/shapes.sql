-- Every shape of a run as the report shows it, the largest share of the time first. flop is per call, gflops computed from the
-- median times; intensity is FLOP per byte.
SELECT row_number() OVER (ORDER BY s.share_pct DESC NULLS LAST, r.seq) AS number,
       concat(gemm_name(p), ' ', p.m, '×', p.n, '×', p.k, if(p.batch > 1, concat(' b', p.batch), '')) AS gemm,
       p.a_type, p.compute_type, r.call_count AS calls, s.share_pct, c.us AS us_baseline,
       coalesce(s.us_reference, c.us) AS us_reference, s.us_tuned, s.ratio, s.ratio_low, s.ratio_high, s.n_pairs, s.class, s.reason,
       r.call_count * coalesce(s.us_reference, c.us) / 1e3 AS ms_before,
       r.call_count * coalesce(s.us_reference, c.us) / if(s.class = 'kept', s.ratio, 1) / 1e3 AS ms_after,
       arithmetic_intensity(p) AS intensity,
       2e0 * p.m * p.n * p.k * p.batch / coalesce(s.us_reference, c.us) / 1e3 AS gflops_reference,
       2e0 * p.m * p.n * p.k * p.batch / s.us_tuned / 1e3 AS gflops_tuned,
       lr.solution AS solution_reference, lt.solution AS solution_tuned
FROM selection AS s
JOIN run_problem AS r ON r.run_id = s.run_id AND r.problem_id = s.problem_id
JOIN problem AS p ON p.problem_id = s.problem_id
LEFT JOIN run_contribution AS c ON c.run_id = s.run_id AND c.problem_id = s.problem_id
LEFT JOIN solution_label AS lr ON lr.solution_id = s.reference_solution_id
LEFT JOIN solution_label AS lt ON lt.solution_id = s.tuned_solution_id
WHERE s.run_id = $run_id::UUID
ORDER BY number;
