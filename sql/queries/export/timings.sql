-- Every sample of a run with its shape, kernel, library and environment.
SELECT t.job_kind, t.harness, t.role, gemm_name(p) AS type, p.m, p.n, p.batch, p.k, p.trans_a, p.trans_b, p.a_type, p.b_type, p.c_type,
       p.d_type, p.compute_type, p.activation, p.bias_type, t.arm, t.round, t.rank, t.solution_index, l.solution, l.kernel, t.us,
       t.gflops_computed AS gflops, t.iters, t.cold_iters, t.sclk_mhz, t.mclk_mhz, t.workspace, t.simulated, t.gfx, d.host, d.ordinal,
       t.measured_at, t.problem_id::VARCHAR AS problem_id, t.solution_id::VARCHAR AS solution_id, t.library_id::VARCHAR AS library_id,
       t.environment_id::VARCHAR AS environment_id, t.protocol_id::VARCHAR AS protocol_id
FROM run_timing AS t
JOIN problem AS p ON p.problem_id = t.problem_id
LEFT JOIN solution_label AS l ON l.solution_id = t.solution_id
LEFT JOIN device AS d ON d.device_id = t.device_id
WHERE t.run_id = $run_id::UUID
ORDER BY t.job_kind, p.m, p.n, p.batch, p.k, t.problem_id, t.arm, t.round, t.rank, t.solution_index, t.us, t.measurement_id;
