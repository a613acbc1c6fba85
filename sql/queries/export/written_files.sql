-- Files that exports of any run left below a folder, with the hashes of all their contents.
SELECT path, list(DISTINCT sha256 ORDER BY sha256) AS sha256
FROM export_file WHERE starts_with(path, concat($folder, '/')) GROUP BY path ORDER BY path;
