-- Try jobs again that ended without a measurement, with $more further attempts. Attempt numbers go on.
-- Asked again with the same $now, because the answer got lost, it counts what it did the first time.
UPDATE job SET state = 'pending', max_attempts = attempts + $more, not_before = NULL, updated_at = $now
WHERE (state IN ('failed', 'dead', 'cancelled')
       OR (state = 'done' AND list_contains($outcomes::VARCHAR[], outcome))
       OR (state = 'pending' AND updated_at = $now AND max_attempts = attempts + $more))
  AND ($job_ids IS NULL OR job_id IN (SELECT unnest($job_ids::UUID[])))
  AND ($run_id IS NULL OR job_id IN (SELECT k.job_id FROM run_job AS k WHERE k.run_id = $run_id::UUID));
