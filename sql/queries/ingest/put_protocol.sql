-- Rows of `protocol` whose identity is new.
INSERT INTO "protocol" BY NAME
SELECT DISTINCT ON (protocol_id) r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM "protocol" AS old WHERE old.protocol_id = r.protocol_id::UUID);
