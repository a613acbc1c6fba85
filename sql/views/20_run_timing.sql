-- The timings that belong to a run: those of its jobs, whoever ran them first.
CREATE OR REPLACE VIEW run_timing AS
SELECT r.run_id, j.kind AS job_kind, t.*
FROM run_job AS r
JOIN job AS j ON j.job_id = r.job_id
JOIN timing AS t ON t.job_id = r.job_id;
