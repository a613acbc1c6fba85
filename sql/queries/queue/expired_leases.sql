-- Leases whose time is over by the owner's clock.
SELECT token::VARCHAR AS token FROM job WHERE state = 'leased' AND lease_until < $now;
