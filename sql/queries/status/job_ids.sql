-- How many jobs have an id that starts with each of some texts, and one of them.
SELECT p.prefix, count(j.job_id) AS n, min(j.job_id::VARCHAR) AS job_id
FROM (SELECT unnest($prefixes::VARCHAR[]) AS prefix) AS p
LEFT JOIN job AS j ON starts_with(j.job_id::VARCHAR, p.prefix)
GROUP BY p.prefix ORDER BY p.prefix;
