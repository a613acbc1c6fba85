-- Rows of table problem from numbered problems. Input: problems.
SELECT DISTINCT ON (problem_id) CAST(content_id('problem', problem_text(p)) AS VARCHAR) AS problem_id, p.* EXCLUDE (problem_no)
FROM problems AS p
ORDER BY problem_no;
