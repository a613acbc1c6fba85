-- Remember which config each planned job runs (input: planned).
INSERT INTO tuning_job BY NAME
SELECT DISTINCT ON (job_id) p.job_id::UUID AS job_id, p.config_id::UUID AS config_id
FROM planned AS p
WHERE NOT EXISTS (SELECT 1 FROM tuning_job AS old WHERE old.job_id = p.job_id::UUID);
