-- summary.csv: the baseline of every problem of a run with its contribution.
CREATE OR REPLACE VIEW export_summary AS
SELECT
    c.run_id, row_number() OVER (PARTITION BY c.run_id ORDER BY c.total_us DESC, c.seq) AS row_order,
    g.* EXCLUDE (problem_id), t.rotating_mib AS rotating_buffer, t.flush::INTEGER AS flush, (t.timer = 'gpu')::INTEGER AS use_gpu_timer,
    m.sclk_mhz AS lowest_avg_freq, m.mclk_mhz AS "avg_MCLK",
    m.gflops AS "hipblaslt-Gflops", m.gbps AS "hipblaslt-GB/s", c.us, l.kernel, l.solution, c.solution_index AS "solutionIdx",
    coalesce(s.library_type, 'NotFound') AS lib_source, c.call_count, c.total_us AS "total (us)", c.share_pct AS "% of total",
    r.simulated
FROM run_contribution AS c
JOIN run AS r ON r.run_id = c.run_id
JOIN bench_gemm AS g ON g.problem_id = c.problem_id
LEFT JOIN measurement AS m ON m.measurement_id = c.measurement_id
LEFT JOIN protocol AS t ON t.protocol_id = m.protocol_id
LEFT JOIN solution_label AS l ON l.solution_id = c.solution_id
LEFT JOIN library_solution AS s ON s.library_id = m.library_id AND s.solution_index = c.solution_index
WHERE c.us IS NOT NULL;
