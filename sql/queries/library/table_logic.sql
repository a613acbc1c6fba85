-- What the index table of a built library names: its logic files by base name, and the ingested folders that hold most of them.
WITH named AS (
    SELECT DISTINCT parse_filename(logic_file) AS file FROM library_solution WHERE library_id = $library_id::UUID AND logic_file IS NOT NULL
), held AS (
    SELECT l.path, count(DISTINCT n.file) AS n_held
    FROM library_member AS m
    JOIN named AS n ON n.file = parse_filename(m.path)
    JOIN library AS l ON l.library_id = m.library_id
    GROUP BY l.path
)
SELECT (SELECT count(*) FROM library_solution WHERE library_id = $library_id::UUID) AS n_solutions, (SELECT count(*) FROM named) AS n_files,
       (SELECT min(file) FROM named) AS first_file, h.path, coalesce(h.n_held, 0) AS n_held
FROM (SELECT 1) AS one
LEFT JOIN held AS h ON true
ORDER BY n_held DESC, h.path
LIMIT 1;
