-- What the confirmation of a run knows of each candidate of a shape, and the rule (docs/verdicts.md has formulas and sources).
-- Location and its error: mean trimmed by an eighth on each side (from 8 pairs on), winsorised standard deviation, Student's t
-- (Tukey and McLaughlin 1963). ratio_low and ratio_high hold at once for all candidates, both sides and all looks with 99 %.
-- kept: median ratio at least up_thr and ratio_low above 1. rejected: an upper bound of 90 % for this look lies below up_thr.
CREATE OR REPLACE VIEW run_confirm_candidate AS
WITH o AS (
    SELECT run_id, coalesce(TRY_CAST(options ->> '$.up_thr' AS DOUBLE), 1.03) AS up_thr, 0.005 AS alpha, 0.10 AS beta FROM run
), tried AS (
    -- Candidates without any pair count as tried, too.
    SELECT k.run_id, m.problem_id, count(DISTINCT coalesce(m.solution_index, -1)) AS n_candidates
    FROM run_job AS k
    JOIN run AS r ON r.run_id = k.run_id
    JOIN job AS j ON j.job_id = k.job_id AND j.kind = 'confirm' AND (r.kind = 'search' OR j.library_id = r.tuned_library_id)
    JOIN measurement AS m ON m.job_id = j.job_id AND m.arm = 'candidate'
    GROUP BY ALL
), listed AS (
    SELECT run_id, problem_id, solution_id, min(solution_index) AS solution_index, mode(reference_id ORDER BY reference_id) AS reference_id,
           count(*) AS n_pairs, count(DISTINCT job_id) AS n_looks, median(us_reference) AS us_reference,
           median(us_candidate) AS us_candidate, median(log_ratio) AS log_median, list(log_ratio ORDER BY log_ratio) AS z,
           bool_or(simulated) AS simulated
    FROM run_confirm_pair
    GROUP BY run_id, problem_id, solution_id
), cut AS (
    SELECT *, if(n_pairs >= 8, n_pairs // 8, 0) AS g FROM listed
), moments AS (
    SELECT * EXCLUDE (z), n_pairs - 2 * g - 1 AS dof, list_avg(z[g + 1 : n_pairs - g]) AS location,
           list_stddev_samp(list_transform(z, lambda x: greatest(least(x, z[n_pairs - g]), z[g + 1]))) AS spread
    FROM cut
    WHERE n_pairs >= 4
), judged AS (
    SELECT m.* EXCLUDE (g), t.n_candidates, o.up_thr, o.alpha,
           m.spread / ((1 - 2.0 * m.g / m.n_pairs) * sqrt(m.n_pairs)) AS se,
           t_quantile(look_alpha(o.alpha, m.n_looks, t.n_candidates), m.dof) AS t_keep, t_quantile(o.beta, m.dof) AS t_reject,
           normal_quantile(look_alpha(o.alpha, m.n_looks + 1, t.n_candidates)) AS z_keep, normal_quantile(o.beta) AS z_reject
    FROM moments AS m
    JOIN o ON o.run_id = m.run_id
    JOIN tried AS t ON t.run_id = m.run_id AND t.problem_id = m.problem_id
), bounds AS (
    -- A bound never crosses the median, which is what is printed.
    SELECT *, exp(log_median) AS ratio, exp(least(location - t_keep * se, log_median)) AS ratio_low,
           exp(greatest(location + t_keep * se, log_median)) AS ratio_high,
           exp(greatest(location + t_reject * se, log_median)) AS ratio_reject
    FROM judged
)
SELECT
    run_id, problem_id, solution_id, solution_index, reference_id, n_candidates, n_looks, n_pairs, us_reference, us_candidate,
    ratio, ratio_low, ratio_high, ratio_reject, spread, se AS log_ratio_se, 1 - 2 * alpha AS confidence,
    CASE WHEN ratio >= up_thr AND ratio_low > 1 THEN 'kept' WHEN ratio_reject < up_thr THEN 'rejected' ELSE 'open' END AS state,
    -- Pairs that would decide if location and spread stayed as they are.
    CASE WHEN ratio >= up_thr THEN pow(z_keep * spread / nullif(location, 0), 2) END AS n_keep,
    CASE WHEN location < ln(up_thr) THEN pow(z_reject * spread / (ln(up_thr) - location), 2) END AS n_reject,
    simulated
FROM bounds;
