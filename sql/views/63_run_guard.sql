-- After deployment: what became of every shape of a guarded run between the library before and the deployed one. Tuned shapes
-- must use their kernel; of the others it is shown that nothing changed. ratio = time before / time with the deployed library, with
-- a 99 % interval (mean of the log ratios, Student's t); same time: the 90 % interval lies within the threshold on both sides.
CREATE OR REPLACE VIEW run_guard AS
WITH g AS (
    SELECT run_id, simulated, (options ->> '$.guarded_run')::UUID AS guarded, TRY_CAST(options ->> '$.threshold' AS DOUBLE) AS threshold
    FROM run WHERE kind = 'guard'
), z AS (
    SELECT run_id, problem_id, count(*) AS n_pairs, median(us_reference) AS us_before, median(us_tuned) AS us_after,
           exp(median(log_ratio)) AS ratio, avg(log_ratio ORDER BY log_ratio) AS location,
           stddev_samp(log_ratio ORDER BY log_ratio) / sqrt(count(*)) AS se
    FROM run_pair GROUP BY run_id, problem_id HAVING count(*) >= 4
), f AS (
    SELECT run_id, problem_id, min(outcome) AS outcome FROM run_failure WHERE problem_id IS NOT NULL GROUP BY run_id, problem_id
), facts AS (
    SELECT g.run_id, g.simulated, g.threshold, p.problem_id, p.seq, p.call_count, c.share_pct, coalesce(s.class IN ('kept', 'new_solution'), false) AS tuned,
           s.class AS verdict, s.tuned_solution_id, b.solution_id AS before_id, a.solution_id AS after_id, z.n_pairs, z.us_before,
           coalesce(z.us_after, if(s.class = 'new_solution', a.us, NULL)) AS us_after,
           z.ratio, f.outcome AS failure,
           exp(least(z.location - t_quantile(0.005, z.n_pairs - 1) * z.se, ln(z.ratio))) AS ratio_low,
           exp(greatest(z.location + t_quantile(0.005, z.n_pairs - 1) * z.se, ln(z.ratio))) AS ratio_high,
           abs(z.location) + t_quantile(0.05, z.n_pairs - 1) * z.se <= ln(g.threshold) AS same_time
    FROM g
    JOIN run_problem AS p ON p.run_id = g.run_id
    LEFT JOIN selection AS s ON s.run_id = g.guarded AND s.problem_id = p.problem_id
    LEFT JOIN run_contribution AS c ON c.run_id = g.guarded AND c.problem_id = p.problem_id
    LEFT JOIN run_arm AS b ON b.run_id = g.run_id AND b.problem_id = p.problem_id AND b.arm = 'reference'
    LEFT JOIN run_arm AS a ON a.run_id = g.run_id AND a.problem_id = p.problem_id AND a.arm = 'tuned'
    LEFT JOIN z ON z.run_id = g.run_id AND z.problem_id = p.problem_id
    LEFT JOIN f ON f.run_id = g.run_id AND f.problem_id = p.problem_id
), classed AS (
    SELECT *, CASE
        -- The library before has no solution: there is no ratio, but the deployed one must use the new kernel.
        WHEN verdict = 'new_solution' AND failure IS NULL AND after_id IS NOT NULL
            THEN if(after_id = tuned_solution_id, 'applied', 'not_applied')
        WHEN verdict = 'new_solution' AND failure = 'no_solution' THEN 'not_applied'
        WHEN ratio IS NULL OR failure IS NOT NULL THEN 'not_compared'
        WHEN tuned AND after_id IS DISTINCT FROM tuned_solution_id THEN 'not_applied'
        WHEN tuned THEN 'applied'
        WHEN same_time OR (before_id = after_id AND ratio_low <= 1 AND ratio_high >= 1) THEN if(before_id = after_id, 'unchanged', 'other_kernel')
        WHEN ratio_high < 1 THEN 'slower'
        WHEN ratio_low > 1 THEN 'faster'
        ELSE 'undecided' END AS class
    FROM facts
)
SELECT run_id, problem_id, seq, tuned, verdict, class,
       CASE class
           WHEN 'not_compared' THEN coalesce('no time: ' || failure, 'no time, as in the run that is guarded')
           WHEN 'not_applied' THEN 'the deployed library does not use the kernel that was kept'
           WHEN 'applied' THEN if(verdict = 'new_solution', printf('the new kernel is used where there was no solution before, %.4g µs', us_after),
                                  printf('the tuned kernel is used, %.4f times the speed before (%.4f to %.4f)', ratio, ratio_low, ratio_high))
           WHEN 'unchanged' THEN printf('the same kernel as before, %.4f times its speed (%.4f to %.4f)', ratio, ratio_low, ratio_high)
           WHEN 'other_kernel' THEN printf('another kernel than before, as fast: %.4f (%.4f to %.4f)', ratio, ratio_low, ratio_high)
           WHEN 'undecided' THEN printf('another kernel than before, and %d pairs leave open whether it is as fast: %.4f (%.4f to %.4f)',
                                        n_pairs, ratio, ratio_low, ratio_high)
           ELSE printf('%s kernel, %.4f times the speed before (%.4f to %.4f)', if(before_id = after_id, 'the same', 'another'), ratio,
                       ratio_low, ratio_high) END AS reason,
       us_before, us_after, ratio, ratio_low, ratio_high, n_pairs, before_id, after_id, call_count, share_pct, simulated
FROM classed;
