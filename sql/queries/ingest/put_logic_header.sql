-- Headers of logic files that have none yet.
INSERT INTO logic_header BY NAME
SELECT DISTINCT ON (library_id) r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM logic_header AS old WHERE old.library_id = r.library_id::UUID);
