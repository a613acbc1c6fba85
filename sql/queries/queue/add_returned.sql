-- Evidence of leases that end without a result: given back, lost, or taken from a quarantined device (by token).
INSERT INTO job_attempt BY NAME
SELECT job_id, attempts AS attempt, token, coalesce(runner, '?') AS runner, device_id, $now::TIMESTAMPTZ AS ended_at,
       $outcome AS outcome, false AS late, $message AS message
FROM job
WHERE state = 'leased' AND token IN (SELECT unnest($tokens::UUID[]));
