-- What hipblaslt-bench gave for the rows of a run under its own column names; one row per given row that has a result, in the
-- order of the rows ($job_ids). Errors and tolerances come from rows that check.
WITH wanted AS (
    SELECT unnest($job_ids::VARCHAR[])::UUID AS job_id, generate_subscripts($job_ids::VARCHAR[], 1) AS position
), timed AS (
    SELECT t.job_id, arg_max(t.us, t.attempt) AS us, arg_max(t.gflops, t.attempt) AS gflops, arg_max(t.gbps, t.attempt) AS gbps,
           arg_max(t.solution_id, t.attempt) AS solution_id, arg_max(t.solution_index, t.attempt) AS solution_index,
           arg_max(t.sclk_mhz, t.attempt) AS sclk_mhz, arg_max(t.mclk_mhz, t.attempt) AS mclk_mhz, bool_or(t.simulated) AS simulated
    FROM timing AS t WHERE t.job_id IN (SELECT job_id FROM wanted) GROUP BY t.job_id
), checked AS (
    SELECT v.job_id, max(v.norm_error) AS norm_error, max(v.atol) AS atol, max(v.rtol) AS rtol, bool_or(e.simulated) AS simulated
    FROM validation AS v JOIN environment AS e ON e.environment_id = v.environment_id
    WHERE v.job_id IN (SELECT job_id FROM wanted) GROUP BY v.job_id
)
SELECT g.* EXCLUDE (problem_id), p.rotating_mib AS rotating_buffer, p.flush::INTEGER AS flush, (p.timer = 'gpu')::INTEGER AS use_gpu_timer,
       t.sclk_mhz AS lowest_avg_freq, t.mclk_mhz AS "avg_MCLK", t.gflops AS "hipblaslt-Gflops", t.gbps AS "hipblaslt-GB/s", t.us,
       k.norm_error, k.atol, k.rtol, l.kernel, l.solution, t.solution_index AS "solutionIdx", coalesce(t.simulated, k.simulated) AS simulated
FROM wanted AS w
JOIN job AS j ON j.job_id = w.job_id
JOIN bench_gemm AS g ON g.problem_id = j.problem_id
JOIN protocol AS p ON p.protocol_id = j.protocol_id
LEFT JOIN timed AS t ON t.job_id = w.job_id
LEFT JOIN checked AS k ON k.job_id = w.job_id
LEFT JOIN solution_label AS l ON l.solution_id = t.solution_id
WHERE t.job_id IS NOT NULL OR k.job_id IS NOT NULL
ORDER BY w.position;
