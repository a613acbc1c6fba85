-- Leases held by runner processes of one host: the owner looks which of these processes are gone.
SELECT r.runner, r.pid, list(j.token::VARCHAR ORDER BY j.token) AS tokens
FROM job AS j JOIN runner AS r ON r.runner = j.runner
WHERE j.state = 'leased' AND r.host = $host AND r.pid IS NOT NULL
GROUP BY ALL;
