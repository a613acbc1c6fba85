-- A folder of logic files becomes a library; what all members share is its own, counts are summed.
INSERT INTO library BY NAME
SELECT $library_id::UUID AS library_id, 'logic' AS kind, $name AS name,
       CASE WHEN count(DISTINCT l.arch) = 1 THEN min(l.arch) END AS arch,
       CASE WHEN count(DISTINCT coalesce(l.cu_count, -1)) = 1 THEN min(l.cu_count) END AS cu_count,
       CASE WHEN count(DISTINCT l.schedule) = 1 THEN min(l.schedule) END AS schedule,
       sum(l.n_solutions)::BIGINT AS n_solutions, sum(l.n_sizes)::BIGINT AS n_sizes, 'ingest' AS origin,
       $digest AS content_sha256, $path AS path, $detail::JSON AS detail, $now::TIMESTAMPTZ AS first_seen
FROM members AS m JOIN library AS l ON l.library_id = m.member_id::UUID
HAVING NOT EXISTS (SELECT 1 FROM library WHERE library_id = $library_id::UUID);
