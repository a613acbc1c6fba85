-- Drop attempts that came to nothing: given back or lost.
DELETE FROM job_attempt
WHERE outcome IN ('released', 'lost') AND ended_at < coalesce($before::TIMESTAMPTZ, 'infinity');
