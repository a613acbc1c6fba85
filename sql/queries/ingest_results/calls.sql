-- Rows of tables call and workload_call for problems that are listed without a time: each line is one call.
-- Inputs: problems, results.
WITH
    numbered_call AS (
        SELECT problem_no, CAST(content_id('problem', problem_text(p)) AS VARCHAR) AS problem_id, CAST(bench_row(p) AS VARCHAR) AS fields
        FROM problems AS p
    )
SELECT
    CAST(content_id('call', c.fields) AS VARCHAR) AS call_id, c.problem_id, c.fields,
    count(*) AS n_lines, min(r.line) AS first_line
FROM results AS r JOIN numbered_call AS c USING (problem_no)
GROUP BY ALL
ORDER BY first_line;
