-- Every solution that the dense search of a run timed for a problem: median over its samples.
CREATE OR REPLACE VIEW run_candidate AS
SELECT
    run_id, problem_id, solution_id, median(us) AS us, count(*) AS n_samples,
    arg_min(solution_index, us) AS solution_index, arg_min(measurement_id, us) AS measurement_id, bool_or(simulated) AS simulated
FROM run_timing
WHERE job_kind = 'screen' AND role = 'screen' AND solution_id IS NOT NULL
GROUP BY run_id, problem_id, solution_id;
