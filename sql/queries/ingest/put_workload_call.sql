-- Counts of one file that is not known yet; a file that was read in parts brings a call more than once.
INSERT INTO workload_call BY NAME
SELECT $file_id::UUID AS file_id, call_id, sum(call_count)::BIGINT AS call_count, sum(n_lines)::BIGINT AS n_lines,
       min(first_line) AS first_line
FROM rows WHERE NOT EXISTS (SELECT 1 FROM ingest_file WHERE file_id = $file_id::UUID)
GROUP BY call_id ORDER BY first_line;
