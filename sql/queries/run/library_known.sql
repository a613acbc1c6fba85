-- Whether the index table of a library is in the warehouse.
SELECT EXISTS (SELECT 1 FROM library_solution WHERE library_id = $library_id::UUID) AS known;
