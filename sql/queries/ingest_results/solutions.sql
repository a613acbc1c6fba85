-- Rows of table solution from numbered solutions known by their names. Input: solutions.
SELECT DISTINCT ON (solution_id)
    CAST(content_id('solution', s.canonical) AS VARCHAR) AS solution_id, 'name' AS source, s.* EXCLUDE (solution_no)
FROM solutions AS s
ORDER BY solution_no;
