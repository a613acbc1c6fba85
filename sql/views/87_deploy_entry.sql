-- What a run decided to deploy: the kept shapes, and those that have a solution at last (without reference and ratio), with the winning kernel as the measured reference library knows it.
-- solution_index is NULL where that library has no such kernel (it was made by tuning). Shapes that the original tuning file
-- can't tell apart (legacy_rank > 1: same sizes and types, other epilogue, padding or scaling) follow the one that saves most.
CREATE OR REPLACE VIEW deploy_entry AS
WITH kept AS (
    SELECT s.run_id, s.problem_id, s.tuned_solution_id, s.us_reference, s.us_tuned, s.ratio, s.share_pct, s.simulated, r.seq, r.call_count
    FROM selection AS s JOIN run_problem AS r ON r.run_id = s.run_id AND r.problem_id = s.problem_id
    WHERE s.class IN ('kept', 'new_solution')
)
SELECT
    k.run_id, k.problem_id, k.seq, k.call_count, k.simulated, k.us_reference, k.us_tuned, k.ratio, k.share_pct,
    c.solution_index, k.tuned_solution_id AS solution_id, l.solution AS solution_name, l.kernel AS kernel_name,
    m.workspace, m.gflops, m.gbps, t.rotating_mib, t.flush::INTEGER AS flush, (t.timer = 'gpu')::INTEGER AS use_gpu_timer,
    e.gfx, e.cu_count, e.rocm, e.hip, e.hipblaslt_version, e.hipblaslt_git,
    row_number() OVER (
        PARTITION BY k.run_id, p.trans_a = 'N', p.trans_b = 'N', p.m, p.n, p.k, p.batch, p.a_type, p.b_type, p.c_type, p.d_type, p.compute_type
        ORDER BY k.share_pct * (1 - 1 / k.ratio) DESC NULLS LAST, k.seq) AS legacy_rank
FROM kept AS k
JOIN problem AS p ON p.problem_id = k.problem_id
JOIN run AS r ON r.run_id = k.run_id
LEFT JOIN environment AS e ON e.environment_id = r.environment_id
LEFT JOIN run_candidate AS c ON c.run_id = k.run_id AND c.problem_id = k.problem_id AND c.solution_id = k.tuned_solution_id
LEFT JOIN measurement AS m ON m.measurement_id = c.measurement_id
LEFT JOIN protocol AS t ON t.protocol_id = m.protocol_id
LEFT JOIN solution_label AS l ON l.solution_id = k.tuned_solution_id;
