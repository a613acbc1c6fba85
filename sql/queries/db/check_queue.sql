-- States of the queue that can't come from its own statements.
WITH odd AS (
    SELECT 'leases end' AS what, job_id FROM job WHERE state = 'leased' AND lease_until < $now - INTERVAL 10 MINUTE
    UNION ALL SELECT 'leased jobs have a token and a time', job_id FROM job
    WHERE state = 'leased' AND (token IS NULL OR lease_until IS NULL)
    UNION ALL SELECT 'only leased jobs have a token', job_id FROM job WHERE state <> 'leased' AND token IS NOT NULL
    UNION ALL SELECT 'done jobs have an accepted attempt', job_id FROM job
    WHERE state = 'done' AND job_id NOT IN (SELECT job_id FROM job_attempt WHERE NOT late)
)
SELECT rule.what AS rule, count(odd.job_id) AS n, min(odd.job_id)::VARCHAR AS example
FROM (VALUES ('leases end'), ('leased jobs have a token and a time'), ('only leased jobs have a token'),
             ('done jobs have an accepted attempt')) AS rule(what)
LEFT JOIN odd ON odd.what = rule.what
GROUP BY rule.what ORDER BY rule.what;
