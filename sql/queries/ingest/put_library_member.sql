-- Members of libraries that have none yet; a library's members are written as a whole.
INSERT INTO library_member BY NAME
SELECT r.* FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM library_member AS old WHERE old.library_id = r.library_id::UUID);
