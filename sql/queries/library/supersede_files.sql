-- Forget logic files as an older parser read them.
DELETE FROM ingest_file AS f USING rows AS r
WHERE f.sha256 = r.sha256 AND f.kind = r.kind AND f.parser_version <> r.parser_version;
