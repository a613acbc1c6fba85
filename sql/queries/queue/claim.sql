-- Jobs that change hands (input: changed): results that present the current lease finish theirs, claims lease the next.
-- Compare and set: a row counts only while job, state, attempts and lease in the table are what the caller read. Each
-- lease has a token; only its holder may complete the job.
-- Only the place of the row (nr) is a join key: DuckDB then reads just these rows instead of all jobs. The rest is
-- compared as one text, which isn't made part of the join.
UPDATE job
SET state = c.new_state, attempts = c.new_attempts, token = c.new_token::UUID, lease_until = c.lease_until,
    runner = coalesce(c.runner, job.runner), device_id = coalesce(c.device_id::UUID, job.device_id),
    outcome = coalesce(c.outcome, job.outcome), updated_at = c.now
FROM changed AS c
WHERE job.rowid = c.nr
  AND concat_ws(' ', job.job_id, job.state, job.attempts, CASE WHEN c.state = 'leased' THEN job.token END) = c.before;
