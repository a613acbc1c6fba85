-- Libraries that a text means: start of an id, name, or path.
SELECT l.library_id::VARCHAR AS library_id, l.kind, l.name, l.arch, l.cu_count, l.path, l.detail->>'program' AS program,
       (SELECT count(*) FROM library_member AS m WHERE m.library_id = l.library_id)
       + (SELECT count(*) FROM logic_header AS h WHERE h.library_id = l.library_id)
       + (SELECT count(*) FROM library_entry AS e WHERE e.library_id = l.library_id) AS n_rows
FROM library AS l
WHERE starts_with(l.library_id::VARCHAR, $text) OR l.name = $text OR l.path = $text OR l.path = $path
ORDER BY l.first_seen DESC, l.library_id;
