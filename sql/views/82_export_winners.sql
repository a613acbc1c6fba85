-- winners.csv: the fastest existing solution per problem of a search.
CREATE OR REPLACE VIEW export_winners AS
SELECT
    w.run_id, p.seq AS row_order, g.* EXCLUDE (problem_id),
    t.rotating_mib AS rotating_buffer, t.flush::INTEGER AS flush, (t.timer = 'gpu')::INTEGER AS use_gpu_timer,
    m.gflops AS "hipblaslt-Gflops", m.gbps AS "hipblaslt-GB/s", w.us, l.kernel, l.solution, w.solution_index AS "solutionIdx",
    w.is_stock_choice, w.simulated
FROM run_winner AS w
JOIN run_problem AS p ON p.run_id = w.run_id AND p.problem_id = w.problem_id
JOIN bench_gemm AS g ON g.problem_id = w.problem_id
JOIN measurement AS m ON m.measurement_id = w.measurement_id
JOIN protocol AS t ON t.protocol_id = m.protocol_id
LEFT JOIN solution_label AS l ON l.solution_id = w.solution_id;
