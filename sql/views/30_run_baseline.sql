-- What each problem of a run costs with the stock library: median over the samples of its baseline jobs.
CREATE OR REPLACE VIEW run_baseline AS
SELECT
    run_id, problem_id, median(us) AS us, count(*) AS n_samples,
    arg_min(solution_id, us) AS solution_id, arg_min(solution_index, us) AS solution_index,
    arg_min(measurement_id, us) AS measurement_id, bool_or(simulated) AS simulated
FROM run_timing
WHERE job_kind = 'baseline' AND role = 'baseline'
GROUP BY run_id, problem_id;
