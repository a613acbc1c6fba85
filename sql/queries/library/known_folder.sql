-- Whether a folder with this content is known.
SELECT EXISTS (SELECT 1 FROM library WHERE library_id = $library_id::UUID) AS known;
