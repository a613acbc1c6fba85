-- Which of these sizes known files have.
SELECT DISTINCT n_bytes FROM ingest_file WHERE n_bytes IN (SELECT n_bytes FROM wanted);
