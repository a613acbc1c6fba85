-- What a run is worth end to end (Amdahl): saved = sum of share · (1 − 1/ratio) over the kept shapes, speed-up = 1 / (1 − saved).
-- The 95 % interval adds up the errors of the single ratios in squares (they are independent): the derivative of a shape's saving
-- by ln(ratio) is share / ratio. The shares themselves are taken as exact.
CREATE OR REPLACE VIEW run_worth AS
WITH s AS (
    SELECT r.run_id, r.simulated, count(d.problem_id) FILTER (WHERE d.class = 'kept') AS n_kept, count(d.problem_id) AS n_shapes,
           coalesce(sum(d.share_pct / 100 ORDER BY d.share_pct) FILTER (WHERE d.class = 'kept'), 0) AS coverage,
           coalesce(sum(d.share_pct / 100 * (1 - 1 / d.ratio) ORDER BY d.share_pct, d.ratio) FILTER (WHERE d.class = 'kept'), 0) AS saved,
           coalesce(sqrt(sum(pow(d.share_pct / 100 / d.ratio * d.log_ratio_se, 2) ORDER BY d.share_pct, d.ratio) FILTER (WHERE d.class = 'kept')), 0) AS se,
           count(*) FILTER (WHERE d.class = 'kept' AND d.check_outcome IS DISTINCT FROM 'passed') AS n_unchecked
    FROM run AS r
    JOIN selection AS d ON d.run_id = r.run_id
    GROUP BY r.run_id, r.simulated
)
SELECT run_id, n_shapes, n_kept, 100 * coverage AS coverage_pct, 100 * saved AS saved_pct, 100 * (saved - 1.96 * se) AS saved_low_pct,
       100 * (saved + 1.96 * se) AS saved_high_pct, 1 / (1 - saved) AS speedup, 1 / (1 - (saved - 1.96 * se)) AS speedup_low,
       1 / (1 - (saved + 1.96 * se)) AS speedup_high, n_unchecked, simulated
FROM s;
