-- Problems of a run that the reference library has no solution for: it said so when the baseline was asked for.
CREATE OR REPLACE VIEW run_no_stock AS
SELECT DISTINCT f.run_id, f.problem_id
FROM run_failure AS f
LEFT JOIN run_baseline AS b ON b.run_id = f.run_id AND b.problem_id = f.problem_id
WHERE f.kind = 'baseline' AND f.outcome IN ('no_solution', 'unsupported') AND b.us IS NULL;
