-- The holder is alive: the leases last longer.
UPDATE job SET lease_until = $lease_until
WHERE state = 'leased' AND token IN (SELECT unnest($tokens::UUID[]));
