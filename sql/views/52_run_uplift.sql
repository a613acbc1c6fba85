-- Speed-up of a shape: ratio = time with the reference library / time with the tuned one, the median over its pairs.
-- Rule point: pairs of the comparison of both libraries, with a plain 95 % interval from the spread of the log ratios
-- (1.4826·MAD scaled to a standard error of the median, factor 1.2533). Rule interval: pairs of the confirmation, with the
-- interval of run_confirm_candidate.
CREATE OR REPLACE VIEW run_uplift AS
SELECT
    p.run_id, p.problem_id, count(*) AS n_pairs, median(p.us_reference) AS us_reference, median(p.us_tuned) AS us_tuned,
    exp(median(p.log_ratio)) AS ratio,
    1.2533 * 1.4826 * mad(p.log_ratio) / sqrt(count(*)) AS log_ratio_se,
    exp(median(p.log_ratio) - 1.96 * 1.2533 * 1.4826 * mad(p.log_ratio) / sqrt(count(*))) AS ratio_low,
    exp(median(p.log_ratio) + 1.96 * 1.2533 * 1.4826 * mad(p.log_ratio) / sqrt(count(*))) AS ratio_high,
    0.95 AS confidence, NULL::BIGINT AS n_looks, NULL::BIGINT AS n_candidates, NULL::UUID AS solution_id
FROM run_pair AS p
JOIN run AS r ON r.run_id = p.run_id
WHERE coalesce(r.options ->> '$.rule', 'point') = 'point'
GROUP BY p.run_id, p.problem_id
UNION ALL BY NAME
SELECT s.run_id, s.problem_id, s.n_pairs, s.us_reference, s.us_candidate AS us_tuned, s.ratio, s.log_ratio_se, s.ratio_low, s.ratio_high,
       s.confidence, s.n_looks, s.n_candidates, s.solution_id
FROM run_shown_candidate AS s
JOIN run AS r ON r.run_id = s.run_id
WHERE r.options ->> '$.rule' = 'interval';
