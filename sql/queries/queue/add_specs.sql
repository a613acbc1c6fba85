-- Specs of jobs that have none (input: wanted).
INSERT INTO job_spec BY NAME
SELECT w.job_id::UUID AS job_id, w.spec::JSON AS spec
FROM (FROM wanted QUALIFY row_number() OVER (PARTITION BY job_id ORDER BY seq) = 1) AS w
WHERE NOT EXISTS (FROM job_spec AS s WHERE s.job_id = w.job_id::UUID)
ORDER BY w.seq;
