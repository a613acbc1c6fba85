-- Id of each numbered problem. Input: problems.
SELECT problem_no, CAST(content_id('problem', problem_text(p)) AS VARCHAR) AS problem_id FROM problems AS p;
