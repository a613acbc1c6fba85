-- Rows of `call` whose identity is new; each identity comes once.
INSERT INTO "call" BY NAME
SELECT r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM "call" AS old WHERE old.call_id = r.call_id::UUID);
