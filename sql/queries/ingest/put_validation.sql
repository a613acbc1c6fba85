-- Results of one file that is not known yet.
INSERT INTO validation BY NAME
SELECT r.*, $file_id::UUID AS file_id FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM ingest_file WHERE file_id = $file_id::UUID);
