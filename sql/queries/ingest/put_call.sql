-- Rows of `call` whose identity is new.
INSERT INTO "call" BY NAME
SELECT DISTINCT ON (call_id) r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM "call" AS old WHERE old.call_id = r.call_id::UUID);
