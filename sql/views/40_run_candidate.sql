-- Every solution that the dense search of a run timed for a problem: median over its samples; in a run that tunes, every new
-- kernel that was timed for the plain problem behind it. Where the tuner checked results, only kernels that passed count; most
-- tuning times are of kernels that were not checked, and the comparison checks what becomes of them.
CREATE OR REPLACE VIEW run_candidate AS
SELECT
    run_id, problem_id, solution_id, median(us) AS us, count(*) AS n_samples,
    arg_min(solution_index, us) AS solution_index, arg_min(measurement_id, us) AS measurement_id, bool_or(simulated) AS simulated
FROM run_timing
WHERE job_kind = 'screen' AND role = 'screen' AND solution_id IS NOT NULL
GROUP BY run_id, problem_id, solution_id
UNION ALL
SELECT
    run_id, problem_id, solution_id, median(us) AS us, count(*) AS n_samples,
    -- An index of a new kernel means nothing in the reference library.
    NULL::BIGINT AS solution_index, arg_min(measurement_id, us) AS measurement_id, bool_or(simulated) AS simulated
FROM (
    SELECT k.run_id, p.problem_id, coalesce(a.solution_id, m.solution_id) AS solution_id, m.us, m.measurement_id, e.simulated
    FROM run_job AS k
    JOIN job AS j ON j.job_id = k.job_id AND j.kind = 'tune'
    JOIN measurement AS m ON m.job_id = j.job_id AND m.outcome IN ('ok', 'not_checked') AND isfinite(m.us) AND m.us > 0
    JOIN run_plain AS p ON p.run_id = k.run_id AND p.plain_id = m.problem_id
    JOIN problem AS q ON q.problem_id = m.problem_id
    JOIN environment AS e ON e.environment_id = m.environment_id
    LEFT JOIN solution_alias AS a ON a.alias_id = m.solution_id
    LEFT JOIN arch_peak AS g ON g.arch = split_part(e.gfx, ':', 1) AND g.a_type = q.a_type AND g.compute_type = q.compute_type
    WHERE m.solution_id IS NOT NULL
      AND 2e0 * q.m * q.n * q.k * q.batch / m.us / 1e3 <= coalesce(g.peak_gflops * 1.02, 'inf'::DOUBLE)
    QUALIFY m.outcome = 'ok' OR NOT bool_or(m.outcome = 'ok') OVER (PARTITION BY k.run_id, p.problem_id)
)
GROUP BY run_id, problem_id, solution_id;
