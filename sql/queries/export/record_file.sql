-- Remember a file that was written.
INSERT INTO export_file BY NAME
SELECT run_id::UUID AS run_id, kind, path, sha256, n_bytes, simulated, $now::TIMESTAMPTZ AS exported_at FROM files;
