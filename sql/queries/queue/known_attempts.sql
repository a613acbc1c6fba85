-- Results that were stored under these tokens: the same result sent again changes nothing.
SELECT job_id::VARCHAR AS job_id, attempt, token::VARCHAR AS token, outcome, late
FROM job_attempt
WHERE token IN (SELECT unnest($tokens::UUID[]));
