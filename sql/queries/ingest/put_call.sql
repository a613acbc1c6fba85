-- Rows of `call` whose identity is new; each identity comes once.
INSERT INTO "call" BY NAME
SELECT r.*
FROM (SELECT * REPLACE (call_id::UUID AS call_id, problem_id::UUID AS problem_id) FROM rows) AS r  -- cast once
WHERE NOT EXISTS (SELECT 1 FROM "call" AS old WHERE old.call_id = r.call_id);
