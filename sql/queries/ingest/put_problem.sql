-- Rows of `problem` whose identity is new; each identity comes once.
INSERT INTO problem BY NAME
SELECT r.*
FROM (SELECT * REPLACE (problem_id::UUID AS problem_id) FROM rows) AS r  -- cast once: parsing a UUID costs more than the join
WHERE NOT EXISTS (SELECT 1 FROM problem AS old WHERE old.problem_id = r.problem_id);
