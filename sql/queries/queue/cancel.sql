-- Cancel jobs that are not finished: all of a run, or those named. A result that comes later is late.
-- Asked again with the same $now, because the answer got lost, it counts what it did the first time.
UPDATE job SET state = 'cancelled', token = NULL, lease_until = NULL, updated_at = $now
WHERE (state IN ('pending', 'leased') OR (state = 'cancelled' AND updated_at = $now))
  AND ($job_ids IS NULL OR job_id IN (SELECT unnest($job_ids::UUID[])))
  AND ($run_id IS NULL OR job_id IN (SELECT k.job_id FROM run_job AS k WHERE k.run_id = $run_id::UUID));
