-- Jobs that no longer belong to a run; what they measured stays.
DELETE FROM run_job WHERE run_id = $run_id::UUID AND job_id IN (SELECT unnest($job_ids::UUID[]));
