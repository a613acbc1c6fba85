-- Workloads that held the file as an older parser read it hold it as it is read now.
UPDATE workload_file SET file_id = $file_id::UUID WHERE file_id IN (
    SELECT file_id FROM ingest_file
    WHERE sha256 = $sha256 AND kind = $kind AND parser_version <> $parser_version);
