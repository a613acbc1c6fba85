-- Which run wants which jobs (input: wanted).
INSERT INTO run_job BY NAME
SELECT DISTINCT $run_id::UUID AS run_id, w.job_id::UUID AS job_id
FROM wanted AS w
WHERE NOT EXISTS (FROM run_job AS k WHERE k.run_id = $run_id::UUID AND k.job_id = w.job_id::UUID);
