-- GEMMs of a run that have a new kernel and no solution in the reference library: there is nothing to compare with.
SELECT count(*) AS n FROM selection AS s
JOIN run_winner AS w ON w.run_id = s.run_id AND w.problem_id = s.problem_id
WHERE s.run_id = $run_id::UUID AND s.class = 'no_solution';
