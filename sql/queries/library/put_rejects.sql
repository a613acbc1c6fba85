-- What could not be used of logic files that are not known yet.
INSERT INTO ingest_reject BY NAME
SELECT r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM ingest_file AS old WHERE old.file_id = r.file_id::UUID);
