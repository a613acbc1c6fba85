-- Spread of the samples of one shape and kernel on one device, relative to their median, in %; at least three samples.
SELECT concat(any_value(d.host), ' GPU ', any_value(d.ordinal)) AS device, 100 * stddev_samp(t.us) / median(t.us) AS cv_pct, count(*) AS samples
FROM run_timing AS t LEFT JOIN device AS d ON d.device_id = t.device_id
WHERE t.run_id = $run_id::UUID AND t.job_kind IN ('compare', 'confirm')
GROUP BY t.device_id, t.job_id, t.problem_id, t.arm, t.solution_id HAVING count(*) >= 3
ORDER BY device, cv_pct;
