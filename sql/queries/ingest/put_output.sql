-- Rows of `output` whose identity is new.
INSERT INTO "output" BY NAME
SELECT DISTINCT ON (output_id) r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM "output" AS old WHERE old.output_id = r.output_id::UUID);
