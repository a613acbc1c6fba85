-- new_solutions.csv: shapes that the reference library has no solution for, with the new kernel that serves them. There is no ratio,
-- so they stand in no figure about uplift.
CREATE OR REPLACE VIEW export_new_solutions AS
SELECT
    d.run_id, p.seq AS row_order, g.* EXCLUDE (problem_id), t.rotating_mib AS rotating_buffer, t.flush::INTEGER AS flush,
    (t.timer = 'gpu')::INTEGER AS use_gpu_timer,
    2e0 * g.m * g.n * g.k * g.batch_count / d.us_tuned / 1e3 AS "hipblaslt-Gflops", m.gbps AS "hipblaslt-GB/s", d.us_tuned AS us,
    l.kernel, l.solution, a.solution_index AS "solutionIdx_tuned", k.norm_error AS error, d.check_outcome = 'passed' AS verified,
    p.call_count, d.reason, d.simulated
FROM selection AS d
JOIN run_problem AS p ON p.run_id = d.run_id AND p.problem_id = d.problem_id
LEFT JOIN run_check AS k ON k.run_id = d.run_id AND k.problem_id = d.problem_id
JOIN bench_gemm AS g ON g.problem_id = d.problem_id
LEFT JOIN run_arm AS a ON a.run_id = d.run_id AND a.problem_id = d.problem_id AND a.arm = 'tuned'
LEFT JOIN measurement AS m ON m.measurement_id = a.measurement_id
LEFT JOIN protocol AS t ON t.protocol_id = m.protocol_id
LEFT JOIN solution_label AS l ON l.solution_id = a.solution_id
WHERE d.class = 'new_solution';
