-- Jobs and device seconds of a search, stage by stage (input: shapes, the rows of run/estimate_shapes). Qualifying: only shapes with
-- many fast solutions need it, at most all. Confirmation: from the first look at every shape up to its budget. The checks run on the host, at some 5 GFLOP/s.
WITH s AS (
    SELECT s.*, least($confirm_candidates, greatest(n_solutions - 1, 1)) AS n_candidates,
           2e-6 * us * iterations($compare_duration, us, $iters) AS row_s, q.m, q.n, q.k, q.batch
    FROM shapes AS s JOIN problem AS q ON q.problem_id = s.problem_id::UUID
)
SELECT * FROM (
    SELECT 1 AS nr, 'baseline' AS stage, count(*) AS jobs, count(*) FILTER (WHERE baseline_done) AS done,
           sum(if(baseline_done, 0, 2e-6 * us * $iters)) AS seconds, sum(if(baseline_done, 0, 2e-6 * us * $iters)) AS at_most_s
    FROM s
    UNION ALL
    SELECT 2, 'search', count(*), count(*) FILTER (WHERE screen_done), sum(if(screen_done, 0, 2 * $duration * n_solutions)),
           sum(if(screen_done, 0, 2 * $duration * n_solutions))
    FROM s WHERE kept
    UNION ALL
    SELECT 3, 'qualify', ceil(count(*) / $chunk::DOUBLE)::BIGINT, 0, 0,
           sum($qualify_rounds * (least($n_qualify, n_solutions - 1) + 1) * 2 * greatest($duration, 1e-6 * us))
    FROM s WHERE kept AND $rule = 'interval' AND n_solutions - 1 > $confirm_candidates
    UNION ALL
    SELECT 4, 'confirm', ceil(count(*) / $chunk::DOUBLE)::BIGINT, 0, sum(look_pairs(1) * (n_candidates + 1) * row_s),
           least(sum(greatest($shape_budget_s, look_pairs(1) * (n_candidates + 1) * row_s)), $run_budget_s)
    FROM s WHERE kept AND $rule = 'interval'
    UNION ALL
    SELECT 5, 'compare', ceil(count(*) / $chunk::DOUBLE)::BIGINT, 0, sum(2 * $rounds * row_s), sum(2 * $rounds * row_s) FROM s WHERE kept
    UNION ALL
    SELECT 6, 'verify', count(*), 0, sum(1.0 + 2e0 * m * n * k * batch / 5e9), sum(1.0 + 2e0 * m * n * k * batch / 5e9)
    FROM s WHERE kept AND $verify
)
WHERE jobs > 0
ORDER BY nr;
