-- Jobs asked for again take the new priority, cost, timeout and attempts unless they are running or done (input: wanted).
UPDATE job
SET priority = wanted.priority, cost_s = wanted.cost_s, timeout_s = wanted.timeout_s, batch_key = wanted.batch_key,
    max_attempts = greatest(job.max_attempts, wanted.max_attempts)
FROM wanted
WHERE job.job_id = wanted.job_id::UUID AND job.state NOT IN ('leased', 'done');
