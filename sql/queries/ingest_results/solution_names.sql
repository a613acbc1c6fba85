-- Rows of table solution_name. Inputs: names, solutions.
SELECT DISTINCT CAST(content_id('solution', s.canonical) AS VARCHAR) AS solution_id, n.kind, n.name
FROM names AS n JOIN solutions AS s USING (solution_no)
ORDER BY n.kind, n.name;
