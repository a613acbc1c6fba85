-- New state of the jobs whose result was accepted. A job whose process died runs by itself from now on.
UPDATE job
SET state = verdict.new_state,
    attempts = attempts - (verdict.outcome = 'released')::INTEGER,
    not_before = CASE WHEN verdict.new_state = 'pending'
                      THEN $now::TIMESTAMPTZ + to_milliseconds(verdict.retry_ms) END,
    alone = alone OR verdict.outcome IN ('hang', 'memory_fault', 'crash', 'timeout'),
    token = NULL, lease_until = NULL, outcome = verdict.outcome, updated_at = $now
FROM (
    SELECT unnest($job_ids::UUID[]) AS job_id, unnest($new_states::VARCHAR[]) AS new_state,
           unnest($outcomes::VARCHAR[]) AS outcome, unnest($retry_ms::BIGINT[]) AS retry_ms
) AS verdict
WHERE job.job_id = verdict.job_id;
