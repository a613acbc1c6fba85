-- Rows of `library` whose identity is new.
INSERT INTO library BY NAME
SELECT DISTINCT ON (library_id) r.*, $now::TIMESTAMPTZ AS first_seen FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM library AS old WHERE old.library_id = r.library_id::UUID);
