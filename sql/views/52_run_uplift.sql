-- Speed-up of a shape: ratio = time with the reference library / time with the tuned one, the median over its pairs, with a
-- 95 % interval from the spread of the log ratios (1.4826·MAD scaled to a standard error of the median, factor 1.2533).
CREATE OR REPLACE VIEW run_uplift AS
SELECT
    run_id, problem_id, count(*) AS n_pairs, median(us_reference) AS us_reference, median(us_tuned) AS us_tuned,
    exp(median(log_ratio)) AS ratio,
    1.2533 * 1.4826 * mad(log_ratio) / sqrt(count(*)) AS log_ratio_se,
    exp(median(log_ratio) - 1.96 * 1.2533 * 1.4826 * mad(log_ratio) / sqrt(count(*))) AS ratio_low,
    exp(median(log_ratio) + 1.96 * 1.2533 * 1.4826 * mad(log_ratio) / sqrt(count(*))) AS ratio_high
FROM run_pair
GROUP BY run_id, problem_id;
