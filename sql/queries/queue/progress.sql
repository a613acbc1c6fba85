-- Jobs of a run per kind and state, with the seconds of device time that are left and the earliest back-off.
SELECT j.kind, j.state, j.outcome, count(*) AS n_jobs,
       coalesce(sum(j.cost_s) FILTER (WHERE j.state IN ('pending', 'leased')), 0) AS cost_left_s,
       min(j.not_before) FILTER (WHERE j.state = 'pending') AS not_before
FROM run_job AS k JOIN job AS j ON j.job_id = k.job_id
WHERE k.run_id = $run_id::UUID
GROUP BY ALL ORDER BY ALL;
