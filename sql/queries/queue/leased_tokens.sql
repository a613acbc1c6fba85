-- Leases that exist under these tokens: asked when the answer to a claim was lost, and by heartbeats.
SELECT j.job_id::VARCHAR AS job_id, j.attempts, j.token::VARCHAR AS token, j.kind, j.batch_key, j.timeout_s,
       s.spec::VARCHAR AS spec
FROM job AS j LEFT JOIN job_spec AS s ON s.job_id = j.job_id
WHERE j.state = 'leased' AND j.token IN (SELECT unnest($tokens::UUID[]));
