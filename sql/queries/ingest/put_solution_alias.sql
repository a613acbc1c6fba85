-- Rows of `solution_alias` whose identity is new.
INSERT INTO "solution_alias" BY NAME
SELECT DISTINCT ON (alias_id) r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM "solution_alias" AS old WHERE old.alias_id = r.alias_id::UUID);
