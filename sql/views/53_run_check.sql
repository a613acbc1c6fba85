-- Correctness of a shape under the tuned library of a run. One failed check outweighs passed ones.
CREATE OR REPLACE VIEW run_check AS
SELECT
    rj.run_id, v.problem_id,
    CASE WHEN bool_or(v.outcome = 'failed') THEN 'failed' WHEN bool_or(v.outcome = 'passed') THEN 'passed'
         WHEN bool_or(v.outcome = 'error') THEN 'error' ELSE 'not_checked' END AS outcome,
    max(v.norm_error) AS norm_error,
    mode(coalesce(a.solution_id, v.solution_id) ORDER BY coalesce(a.solution_id, v.solution_id)) FILTER (WHERE v.outcome = 'passed')
        AS solution_id
FROM run_job AS rj
JOIN run AS r ON r.run_id = rj.run_id
JOIN job AS j ON j.job_id = rj.job_id AND j.kind = 'verify'
JOIN validation AS v ON v.job_id = rj.job_id
LEFT JOIN solution_alias AS a ON a.alias_id = v.solution_id
WHERE r.tuned_library_id IS NULL OR v.library_id IS NULL OR v.library_id = r.tuned_library_id
GROUP BY rj.run_id, v.problem_id;
