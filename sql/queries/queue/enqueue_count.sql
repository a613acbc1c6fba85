-- How many of the jobs (input: wanted) are new, known but not done, and done.
SELECT count(*) FILTER (WHERE j.job_id IS NULL) AS n_new,
       count(*) FILTER (WHERE j.state <> 'done') AS n_reused,
       count(*) FILTER (WHERE j.state = 'done') AS n_done
FROM (SELECT DISTINCT job_id::UUID AS job_id FROM wanted) AS w
LEFT JOIN job AS j ON j.job_id = w.job_id;
