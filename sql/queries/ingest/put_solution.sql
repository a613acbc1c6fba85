-- Rows of `solution` whose identity is new.
INSERT INTO "solution" BY NAME
SELECT DISTINCT ON (solution_id) r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM "solution" AS old WHERE old.solution_id = r.solution_id::UUID);
