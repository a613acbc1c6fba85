-- Tuning jobs of a run that its folder no longer asks for (input: planned).
SELECT j.job_id::VARCHAR AS job_id, j.state
FROM run_job AS r JOIN job AS j ON j.job_id = r.job_id
WHERE r.run_id = $run_id::UUID AND j.kind = 'tune' AND j.job_id NOT IN (SELECT job_id::UUID FROM planned);
