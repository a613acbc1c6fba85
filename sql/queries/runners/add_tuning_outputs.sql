-- Files that tuning jobs left (input: left_files).
INSERT INTO tuning_output BY NAME
SELECT f.job_id::UUID AS job_id, f.attempt, f.path, f.content FROM left_files AS f;
