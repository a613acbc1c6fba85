-- Forget a file as an older parser read it.
DELETE FROM ingest_file WHERE sha256 = $sha256 AND kind = $kind AND parser_version <> $parser_version;
