-- Jobs whose id starts with a text.
SELECT job_id::VARCHAR AS job_id FROM job WHERE starts_with(job_id::VARCHAR, $prefix) ORDER BY job_id LIMIT 2;
