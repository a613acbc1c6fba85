-- Lease the jobs that were dealt out. Each lease has a token; only its holder may complete the job.
UPDATE job
SET state = 'leased', attempts = attempts + 1, token = claimed.token, runner = claimed.runner,
    device_id = claimed.device_id, lease_until = claimed.lease_until, updated_at = $now
FROM (
    SELECT unnest($job_ids::UUID[]) AS job_id, unnest($tokens::UUID[]) AS token, unnest($runners::VARCHAR[]) AS runner,
           unnest($device_ids::UUID[]) AS device_id, unnest($lease_until::TIMESTAMPTZ[]) AS lease_until
) AS claimed
WHERE job.job_id = claimed.job_id AND job.state = 'pending';
