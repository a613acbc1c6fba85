-- Problems that have no solution within the run's --max-workspace, but one without that limit.
CREATE OR REPLACE VIEW run_unlimited AS
SELECT run_id, problem_id, median(us) AS us
FROM run_timing
WHERE job_kind = 'baseline' AND role = 'unlimited'
GROUP BY run_id, problem_id;
