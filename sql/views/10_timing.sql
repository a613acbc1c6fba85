-- Timings that may decide something: finished, positive and finite, no echo of another row, not faster than the device can
-- be (table arch_peak), never mixed between simulated and measured (column simulated comes from the environment). One kernel
-- counts as one solution (solution_alias).
CREATE OR REPLACE VIEW timing AS
SELECT
    m.measurement_id, m.problem_id, coalesce(a.solution_id, m.solution_id) AS solution_id, m.library_id, m.environment_id,
    m.protocol_id, m.job_id, m.file_id, m.attempt, m.block_id, m.round, m.arm, m.device_id, m.rank, m.solution_index,
    m.us, m.gflops, m.gbps, m.iters, m.cold_iters, m.sclk_mhz, m.mclk_mhz, m.workspace, m.measured_at, m.extra,
    t.harness, t.role, e.simulated, e.gfx,
    2e0 * p.m * p.n * p.k * p.batch / m.us / 1e3 AS gflops_computed
FROM measurement AS m
JOIN problem AS p ON p.problem_id = m.problem_id
JOIN protocol AS t ON t.protocol_id = m.protocol_id
JOIN environment AS e ON e.environment_id = m.environment_id
LEFT JOIN solution_alias AS a ON a.alias_id = m.solution_id
LEFT JOIN arch_peak AS k ON k.arch = split_part(e.gfx, ':', 1) AND k.a_type = p.a_type AND k.compute_type = p.compute_type
WHERE m.outcome = 'ok'
  AND isfinite(m.us) AND m.us > 0
  AND NOT coalesce(m.winner_echo, false)
  AND 2e0 * p.m * p.n * p.k * p.batch / m.us / 1e3 <= coalesce(k.peak_gflops * 1.02, 'inf'::DOUBLE);
