-- Every solution that the dense search of a run timed for a problem: median over its samples; in a run that tunes, every new
-- kernel that was timed for the plain problem behind it.
CREATE OR REPLACE VIEW run_candidate AS
SELECT
    run_id, problem_id, solution_id, median(us) AS us, count(*) AS n_samples,
    arg_min(solution_index, us) AS solution_index, arg_min(measurement_id, us) AS measurement_id, bool_or(simulated) AS simulated
FROM run_timing
WHERE job_kind = 'screen' AND role = 'screen' AND solution_id IS NOT NULL
GROUP BY run_id, problem_id, solution_id
UNION ALL
SELECT
    t.run_id, p.problem_id, t.solution_id, median(t.us) AS us, count(*) AS n_samples,
    -- An index of a new kernel means nothing in the reference library.
    NULL::BIGINT AS solution_index, arg_min(t.measurement_id, t.us) AS measurement_id, bool_or(t.simulated) AS simulated
FROM run_timing AS t
JOIN run_plain AS p ON p.run_id = t.run_id AND p.plain_id = t.problem_id
WHERE t.job_kind = 'tune' AND t.role = 'tune' AND t.solution_id IS NOT NULL
GROUP BY t.run_id, p.problem_id, t.solution_id;
