-- Rows of `problem` whose identity is new.
INSERT INTO "problem" BY NAME
SELECT DISTINCT ON (problem_id) r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM "problem" AS old WHERE old.problem_id = r.problem_id::UUID);
