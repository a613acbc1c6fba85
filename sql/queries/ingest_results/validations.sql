-- Rows of table validation for one file; $source names its content.
-- Inputs: results, problems, solutions, environments, protocols.
WITH
    numbered_problem AS (SELECT problem_no, content_id('problem', problem_text(p)) AS problem_id FROM problems AS p),
    numbered_solution AS (SELECT solution_no, content_id('solution', canonical) AS solution_id FROM solutions)
SELECT
    CAST(content_id('validation', concat($source, ':', r.row_no)) AS VARCHAR) AS validation_id,
    CAST(p.problem_id AS VARCHAR) AS problem_id, CAST(s.solution_id AS VARCHAR) AS solution_id, e.environment_id,
    t.protocol_id, r.solution_index, r.check_outcome AS outcome, r.norm_error, r.atol, r.rtol, r.measured_at
FROM results AS r
JOIN numbered_problem AS p USING (problem_no)
JOIN environments AS e ON e.environment_no = r.environment
JOIN protocols AS t ON t.protocol_no = r.protocol
LEFT JOIN numbered_solution AS s USING (solution_no)
WHERE r.check_outcome IS NOT NULL
ORDER BY r.environment, r.protocol, r.problem_no, r.row_no;
