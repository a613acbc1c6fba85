-- Rows of `problem` whose identity is new; each identity comes once.
INSERT INTO problem BY NAME
SELECT r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM problem AS old WHERE old.problem_id = r.problem_id::UUID);
