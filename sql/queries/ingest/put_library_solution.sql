-- Index mappings of libraries that have none yet; a library's mapping is written as a whole.
INSERT INTO library_solution BY NAME
SELECT r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM library_solution AS old WHERE old.library_id = r.library_id::UUID);
