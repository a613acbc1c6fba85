-- Logic files become known, those that are not yet.
INSERT INTO ingest_file BY NAME
SELECT r.*, $now::TIMESTAMPTZ AS ingested_at FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM ingest_file AS old WHERE old.file_id = r.file_id::UUID);
