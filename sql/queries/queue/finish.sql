-- The usual case of queue/judge and queue/complete in one: results that finish their job and present the current lease.
-- The caller compares the count and judges one by one when some were not so.
UPDATE job
SET state = 'done', outcome = r.outcome, token = NULL, lease_until = NULL, not_before = NULL, updated_at = $now
FROM (
    SELECT unnest($job_ids::UUID[]) AS job_id, unnest($attempts::INTEGER[]) AS attempt,
           unnest($tokens::UUID[]) AS token, unnest($outcomes::VARCHAR[]) AS outcome
) AS r
WHERE job.job_id = r.job_id AND job.token = r.token AND job.attempts = r.attempt AND job.state = 'leased'
  AND r.outcome IN ('ok', 'verify_failed', 'unsupported', 'no_solution', 'build_failed');
