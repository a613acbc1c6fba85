-- Entries of libraries that have none yet; a library's entries are written as a whole.
INSERT INTO library_entry BY NAME
SELECT r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM library_entry AS old WHERE old.library_id = r.library_id::UUID);
