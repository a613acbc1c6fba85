-- Lines of a file, not known yet, that could not be read.
INSERT INTO ingest_reject BY NAME
SELECT $file_id::UUID AS file_id, r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM ingest_file WHERE file_id = $file_id::UUID);
