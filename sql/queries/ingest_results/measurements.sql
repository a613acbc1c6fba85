-- Rows of table measurement for one file; $source names its content, so that the ids are the same on every machine.
-- Sorted so that the ids of problem, environment and protocol take next to no room in the file.
-- Inputs: results, problems, solutions, environments, protocols.
WITH
    numbered_problem AS (SELECT problem_no, content_id('problem', problem_text(p)) AS problem_id FROM problems AS p),
    numbered_solution AS (SELECT solution_no, content_id('solution', canonical) AS solution_id FROM solutions)
SELECT
    CAST(content_id('measurement', concat($source, ':', r.row_no)) AS VARCHAR) AS measurement_id,
    CAST(p.problem_id AS VARCHAR) AS problem_id, CAST(s.solution_id AS VARCHAR) AS solution_id, e.environment_id,
    t.protocol_id, r.rank, r.winner_echo, r.solution_index, r.outcome, r.us, r.gflops, r.gbps, r.iters, r.cold_iters,
    r.n_samples, r.spread, r.sclk_mhz, r.mclk_mhz, r.workspace, r.measured_at, r.extra
FROM results AS r
JOIN numbered_problem AS p USING (problem_no)
JOIN environments AS e ON e.environment_no = r.environment
JOIN protocols AS t ON t.protocol_no = r.protocol
LEFT JOIN numbered_solution AS s USING (solution_no)
WHERE r.outcome IS NOT NULL
ORDER BY r.environment, r.protocol, r.problem_no, r.row_no;
