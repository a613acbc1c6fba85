-- Shapes of a run that have a solution at last, and how many of them were not checked.
SELECT count(*) AS n, count(*) FILTER (WHERE check_outcome IS DISTINCT FROM 'passed') AS n_unchecked
FROM selection WHERE run_id = $run_id::UUID AND class = 'new_solution';
