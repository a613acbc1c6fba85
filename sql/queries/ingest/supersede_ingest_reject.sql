-- Forget what an older parser read from the same bytes.
DELETE FROM ingest_reject WHERE file_id IN (
    SELECT file_id FROM ingest_file
    WHERE sha256 = $sha256 AND kind = $kind AND parser_version <> $parser_version);
