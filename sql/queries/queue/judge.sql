-- What becomes of jobs by their results. A result counts when it presents the current lease.
-- ok, verify_failed and the negatives unsupported, no_solution and build_failed finish a job: asking again gives the same.
-- A job that failed in a hardware-like way on two devices ($elsewhere) is dead; any other failure is tried again, later
-- each time, until the attempts are used up.
SELECT
    r.r, j.job_id::VARCHAR AS job_id, j.run_id::VARCHAR AS run_id, j.problem_id::VARCHAR AS problem_id,
    j.library_id::VARCHAR AS library_id, j.protocol_id::VARCHAR AS protocol_id,
    j.environment_id::VARCHAR AS environment_id,
    coalesce(j.state = 'leased' AND j.token = r.token AND j.attempts = r.attempt, false) AS accepted,
    CASE
        WHEN r.outcome IN ('ok', 'verify_failed', 'unsupported', 'no_solution', 'build_failed') THEN 'done'
        WHEN r.outcome = 'released' THEN 'pending'
        WHEN r.outcome IN ('hang', 'memory_fault', 'crash', 'timeout') AND r.elsewhere THEN 'dead'
        WHEN j.attempts < j.max_attempts THEN 'pending'
        ELSE 'failed'
    END AS new_state,
    CASE WHEN r.outcome <> 'released' THEN (1000 * least($backoff_s * 2 ** (j.attempts - 1), $max_backoff_s))::BIGINT
    END AS retry_ms
FROM (
    SELECT unnest($r::INTEGER[]) AS r, unnest($job_ids::UUID[]) AS job_id, unnest($attempts::INTEGER[]) AS attempt,
           unnest($tokens::UUID[]) AS token, unnest($outcomes::VARCHAR[]) AS outcome,
           unnest($elsewhere::BOOLEAN[]) AS elsewhere
) AS r
LEFT JOIN job AS j ON j.job_id = r.job_id;
