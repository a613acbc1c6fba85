-- How many problems of a run have a baseline, and what became of the others.
SELECT count(*) AS n_problems, count(b.us) AS n_timed,
       (SELECT string_agg(concat(n, ' ', outcome), ', ' ORDER BY n DESC, outcome)
        FROM (SELECT coalesce(outcome, state) AS outcome, count(*) AS n FROM run_failure
              WHERE run_id = $run_id::UUID AND kind = 'baseline' GROUP BY ALL)) AS outcomes
FROM run_problem AS p
LEFT JOIN run_baseline AS b ON b.run_id = p.run_id AND b.problem_id = p.problem_id
WHERE p.run_id = $run_id::UUID;
