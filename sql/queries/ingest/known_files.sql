-- Which of these files are known, and what was found in them.
SELECT f.file_id, f.n_lines, f.n_rows, f.n_rejects,
       EXISTS (SELECT 1 FROM workload_call AS c WHERE c.file_id = f.file_id) AS has_calls,
       coalesce((f.detail ->> '$.purpose') = 'applied', false) AS is_applied
FROM ingest_file AS f WHERE f.file_id IN (SELECT file_id::UUID FROM wanted);
