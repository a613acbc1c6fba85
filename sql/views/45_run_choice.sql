-- The solution that goes into the tuned library for each shape. Under rule point: the fastest of the dense search; in a run that
-- tunes: the fastest new kernel of a size that a config with library logic is for, since the built library is confirmed as a
-- whole (a job that failed before its logic leaves times, but no kernel in any library). Otherwise:
-- among the kept candidates those that are as good as the best (not shown slower over the same rounds, and by less than half of
-- what up_thr asks for); of these one that the reference library has already, then the one that serves most shapes, then the
-- fastest.
CREATE OR REPLACE VIEW run_choice AS
WITH o AS (
    SELECT run_id, library_id, kind, if(kind = 'search', coalesce(options ->> '$.rule', 'point'), 'point') AS rule,
           (coalesce(TRY_CAST(options ->> '$.up_thr' AS DOUBLE), 1.03) - 1) / 2 AS tie
    FROM run
), made AS (
    SELECT DISTINCT k.run_id, p.problem_id
    FROM run_job AS k
    JOIN tuning_job AS t ON t.job_id = k.job_id
    JOIN tuning_output AS f ON f.job_id = k.job_id AND regexp_matches(f.path, '(^|/)3_LibraryLogic/[^/]+\.ya?ml$')
    JOIN tuning_config_problem AS g ON g.config_id = t.config_id
    JOIN run_plain AS p ON p.run_id = k.run_id AND p.plain_id = g.problem_id
), equal AS (
    SELECT k.*, count(*) OVER (PARTITION BY k.run_id, k.solution_id) AS n_shapes, count(*) OVER (PARTITION BY k.run_id, k.problem_id) AS n_equal,
           s.solution_index IS NOT NULL AS in_library
    FROM confirmation AS k
    JOIN o ON o.run_id = k.run_id AND o.rule <> 'point'
    LEFT JOIN library_solution AS s ON s.library_id = o.library_id AND s.solution_index = k.solution_index
    WHERE k.state = 'kept' AND (coalesce(k.loss, 0) <= 0 OR (k.loss_low <= 0 AND k.loss <= o.tie))
)
SELECT run_id, problem_id, solution_id, solution_index, us_candidate AS us, n_equal, n_shapes, simulated
FROM equal
QUALIFY row_number() OVER (
    PARTITION BY run_id, problem_id ORDER BY in_library DESC, n_shapes DESC, ratio DESC, solution_index, solution_id) = 1
UNION ALL BY NAME
SELECT w.run_id, w.problem_id, w.solution_id, w.solution_index, w.us, 1 AS n_equal, NULL AS n_shapes, w.simulated
FROM run_winner AS w JOIN o ON o.run_id = w.run_id AND o.rule = 'point'
LEFT JOIN made AS d ON d.run_id = w.run_id AND d.problem_id = w.problem_id
WHERE o.kind <> 'tune' OR d.problem_id IS NOT NULL
UNION ALL BY NAME
-- A run that only compares two libraries has no candidates: every shape is compared.
SELECT c.run_id, c.problem_id, NULL::UUID AS solution_id, NULL::BIGINT AS solution_index, c.us, 1 AS n_equal, NULL AS n_shapes, r.simulated
FROM run_contribution AS c JOIN run AS r ON r.run_id = c.run_id AND r.kind = 'analyze' WHERE c.us IS NOT NULL;
