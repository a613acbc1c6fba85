-- A file becomes known.
INSERT INTO ingest_file BY NAME
SELECT $file_id::UUID AS file_id, $sha256 AS sha256, $kind AS kind, $parser_version::INTEGER AS parser_version,
       $path AS path, $n_bytes::BIGINT AS n_bytes, $n_lines::BIGINT AS n_lines, $n_rows::BIGINT AS n_rows,
       $n_rejects::BIGINT AS n_rejects, $detail::JSON AS detail, $now::TIMESTAMPTZ AS ingested_at
WHERE NOT EXISTS (SELECT 1 FROM ingest_file WHERE file_id = $file_id::UUID);
