-- Forget what an older parser could not use of the same bytes.
DELETE FROM ingest_reject WHERE file_id IN (
    SELECT f.file_id FROM ingest_file AS f JOIN rows AS r
    ON f.sha256 = r.sha256 AND f.kind = r.kind AND f.parser_version <> r.parser_version);
