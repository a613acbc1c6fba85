-- Problems of a run with a job that ended without a result, with the outcome of its last attempt.
CREATE OR REPLACE VIEW run_failure AS
SELECT rj.run_id, j.problem_id, j.job_id, j.kind, j.state, j.outcome, j.attempts
FROM run_job AS rj
JOIN job AS j ON j.job_id = rj.job_id
WHERE j.state IN ('failed', 'dead', 'cancelled') OR (j.state = 'done' AND j.outcome <> 'ok');
