-- A job that is done in the imported warehouse is done here too: its measurements came along.
UPDATE job SET state = 'done', outcome = o.outcome, token = NULL, lease_until = NULL, not_before = NULL
FROM geko_import.job AS o
WHERE o.job_id = job.job_id AND o.state = 'done' AND job.state IN ('pending', 'failed', 'dead', 'cancelled');
