-- What is known of each problem of a workload before anything is run: calls, the stock library's time (of this environment,
-- library and protocol; else of the same GPU target; else a guess), the least time by the roofline (input: rates, with
-- peak_gflops by types and gb_per_s), candidates that a search would time, and which jobs are done already.
WITH p AS (
    SELECT c.problem_id, sum(w.call_count) AS calls
    FROM workload_file AS f
    JOIN workload_call AS w ON w.file_id = f.file_id
    JOIN call AS c ON c.call_id = w.call_id
    WHERE f.workload_id = $workload_id::UUID
    GROUP BY c.problem_id
), here AS (
    SELECT problem_id, median(us) AS us FROM timing
    WHERE environment_id = $environment_id::UUID AND library_id = $library_id::UUID AND protocol_id = $baseline_protocol_id::UUID
    GROUP BY problem_id
), elsewhere AS (
    SELECT t.problem_id, median(t.us) AS us FROM timing AS t
    JOIN environment AS e ON e.environment_id = $environment_id::UUID
    WHERE t.role = 'baseline' AND t.gfx = e.gfx AND t.simulated = e.simulated
    GROUP BY t.problem_id
), searched AS (
    SELECT q.a_type, q.trans_a, q.trans_b, max(s.n_timed)::DOUBLE AS n_solutions
    FROM (SELECT problem_id, count(*) AS n_timed FROM timing WHERE library_id = $library_id::UUID AND role = 'screen' GROUP BY problem_id) AS s
    JOIN problem AS q ON q.problem_id = s.problem_id
    GROUP BY ALL
), priced AS (
    SELECT p.problem_id, p.calls, q.m, q.n, q.k, q.batch,
           coalesce(h.us, e.us, guessed_us(q)) AS us,
           CASE WHEN h.us IS NOT NULL THEN 'measured here' WHEN e.us IS NOT NULL THEN 'measured on the same GPU' ELSE 'guessed' END AS source,
           coalesce(s.n_solutions, $expected_candidates) AS n_solutions,
           greatest(2e0 * q.m * q.n * q.k * q.batch / r.peak_gflops / 1e3,
                    q.batch * (type_bytes(q.a_type) * q.m * q.k + type_bytes(q.b_type) * q.k * q.n + type_bytes(q.d_type) * q.m * q.n)
                        / r.gb_per_s / 1e3) AS least_us,
           job_key('baseline', q.problem_id::VARCHAR, $library_id, $baseline_protocol_id, $environment_id, '') AS baseline_job,
           job_key('screen', q.problem_id::VARCHAR, $library_id, $screen_protocol_id, $environment_id, '') AS screen_job
    FROM p
    JOIN problem AS q ON q.problem_id = p.problem_id
    LEFT JOIN rates AS r ON r.a_type = q.a_type AND r.compute_type = q.compute_type
    LEFT JOIN here AS h ON h.problem_id = p.problem_id
    LEFT JOIN elsewhere AS e ON e.problem_id = p.problem_id
    LEFT JOIN searched AS s ON s.a_type = q.a_type AND s.trans_a = q.trans_a AND s.trans_b = q.trans_b
)
SELECT problem_id::VARCHAR AS problem_id, calls, us, n_solutions, least(least_us, us) AS least_us,
       if(without, 'no solution', source) AS source, share_pct, NOT without AND share_pct >= $keep_thr AS kept,
       baseline_done, EXISTS (SELECT 1 FROM job AS j WHERE j.job_id = screen_job AND j.state = 'done') AS screen_done
FROM (
    -- A baseline that ended without a time has no share.
    SELECT *, baseline_done AND source <> 'measured here' AS without,
           100.0 * calls * us / sum(if(baseline_done AND source <> 'measured here', 0, calls * us)) OVER () AS share_pct
    FROM (SELECT *, EXISTS (SELECT 1 FROM job AS j WHERE j.job_id = baseline_job AND j.state = 'done') AS baseline_done FROM priced)
)
ORDER BY share_pct DESC, problem_id;
