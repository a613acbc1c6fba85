-- Id of each numbered solution that is known by its name. Input: solutions.
SELECT solution_no, CAST(content_id('solution', canonical) AS VARCHAR) AS solution_id FROM solutions;
