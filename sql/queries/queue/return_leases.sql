-- Leases go back to pending. A lost lease has cost an attempt, a released one hasn't.
UPDATE job
SET state = CASE WHEN $counts AND attempts >= max_attempts THEN 'failed' ELSE 'pending' END,
    attempts = attempts - (NOT $counts)::INTEGER,
    token = NULL, lease_until = NULL, outcome = $outcome, not_before = NULL, updated_at = $now
WHERE state = 'leased' AND token IN (SELECT unnest($tokens::UUID[]));
