-- Runs whose process is gone.
UPDATE run SET state = 'interrupted', ended_at = $now
WHERE state = 'running' AND run_id IN (SELECT unnest($run_ids::UUID[]));
