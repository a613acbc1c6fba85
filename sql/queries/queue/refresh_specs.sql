-- Jobs asked for again that have not started may have other paths now: their specs are written anew (input: wanted).
DELETE FROM job_spec
WHERE job_id IN (
    SELECT j.job_id FROM job AS j JOIN wanted AS w ON j.job_id = w.job_id::UUID
    JOIN job_spec AS s ON s.job_id = j.job_id
    WHERE j.state NOT IN ('leased', 'done') AND s.spec::VARCHAR <> w.spec);
