-- Jobs that are not known yet (input: wanted).
INSERT INTO job BY NAME
SELECT w.job_id::UUID AS job_id, w.kind, 'pending' AS state, w.priority, w.cost_s, w.batch_key, $run_id::UUID AS run_id,
       w.problem_id::UUID AS problem_id, w.library_id::UUID AS library_id, w.protocol_id::UUID AS protocol_id,
       w.environment_id::UUID AS environment_id, 0 AS attempts, w.max_attempts, w.alone, w.timeout_s,
       $now::TIMESTAMPTZ AS updated_at
FROM (FROM wanted QUALIFY row_number() OVER (PARTITION BY job_id ORDER BY seq) = 1) AS w
WHERE NOT EXISTS (FROM job AS j WHERE j.job_id = w.job_id::UUID)
ORDER BY w.seq;
