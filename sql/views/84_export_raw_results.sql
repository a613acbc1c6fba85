-- raw_results.csv: every shape that was compared, with both libraries' times and kernels, and its verdict as it was decided (table
-- selection).
CREATE OR REPLACE VIEW export_raw_results AS
SELECT
    d.run_id, p.seq AS row_order, g.* EXCLUDE (problem_id),
    t.rotating_mib AS rotating_buffer, t.flush::INTEGER AS flush, (t.timer = 'gpu')::INTEGER AS use_gpu_timer,
    2e0 * g.m * g.n * g.k * g.batch_count / d.us_reference / 1e3 AS "hipblaslt-Gflops_reference",
    mr.gbps AS "hipblaslt-GB/s_reference", d.us_reference, lr.kernel AS kernel_reference, lr.solution AS solution_reference,
    a.reference_index AS "solutionIdx_reference", coalesce(sr.library_type, 'NotFound') AS lib_source_reference,
    2e0 * g.m * g.n * g.k * g.batch_count / d.us_tuned / 1e3 AS "hipblaslt-Gflops_tuned",
    mt.gbps AS "hipblaslt-GB/s_tuned", d.us_tuned, lt.kernel AS kernel_tuned, lt.solution AS solution_tuned,
    a.tuned_index AS "solutionIdx_tuned", coalesce(k.norm_error, 0) AS error_tuned,
    d.ratio, d.ratio_low, d.ratio_high, d.n_pairs,
    d.check_outcome IN ('passed', 'failed') AS verified,
    d.check_outcome IS DISTINCT FROM 'failed'
        AND coalesce(k.norm_error, 0) < coalesce(TRY_CAST(r.options ->> '$.err_thr' AS DOUBLE), 0.03) AS valid,
    (d.ratio - 1) * 100 AS uplift_pct, d.us_reference - d.us_tuned AS us_saved, arithmetic_intensity(g) AS arith_intensity,
    shape_category(g.m, g.n, g.k, g.batch_count) AS category, shape_category_2(g.m, g.n, g.k, g.batch_count) AS category_2,
    a.reference_id IS DISTINCT FROM a.tuned_id AS kernel_changed, lr.solution IS DISTINCT FROM lt.solution AS solution_changed,
    regexp_extract(lt.solution, '_MT(\d+x\d+x\d+)', 1) AS "MT_tuned", regexp_extract(lt.solution, '_MI(\d+x\d+x\d+)', 1) AS "MI_tuned",
    regexp_extract(lr.solution, '_MT(\d+x\d+x\d+)', 1) AS "MT_reference", regexp_extract(lr.solution, '_MI(\d+x\d+x\d+)', 1) AS "MI_reference",
    p.call_count, d.share_pct AS pct_of_total, p.call_count * (d.us_reference - d.us_tuned) AS weighted_us_saved,
    d.share_pct * (1 - 1 / d.ratio) AS weighted_uplift_contribution_pct,
    if(d.class = 'kept', 'tuned', 'reference') AS winner, d.class, d.reason, d.simulated, d.problem_id, s.logic_file AS lib
FROM selection AS d
JOIN run AS r ON r.run_id = d.run_id
JOIN run_problem AS p ON p.run_id = d.run_id AND p.problem_id = d.problem_id
JOIN bench_gemm AS g ON g.problem_id = d.problem_id
LEFT JOIN run_check AS k ON k.run_id = d.run_id AND k.problem_id = d.problem_id
LEFT JOIN run_arms AS a ON a.run_id = d.run_id AND a.problem_id = d.problem_id
LEFT JOIN measurement AS mr ON mr.measurement_id = a.reference_measurement_id
LEFT JOIN measurement AS mt ON mt.measurement_id = a.tuned_measurement_id
LEFT JOIN protocol AS t ON t.protocol_id = mt.protocol_id
LEFT JOIN solution_label AS lr ON lr.solution_id = a.reference_id
LEFT JOIN solution_label AS lt ON lt.solution_id = a.tuned_id
LEFT JOIN library_solution AS sr ON sr.library_id = r.library_id AND sr.solution_index = a.reference_index
LEFT JOIN run_winner AS w ON w.run_id = d.run_id AND w.problem_id = d.problem_id
LEFT JOIN library_solution AS s ON s.library_id = r.library_id AND s.solution_index = w.solution_index
WHERE d.ratio IS NOT NULL;
