-- Progress of the runs that go on now, and of the last one: jobs per stage, and the time that is left at the pace of the last half hour.
WITH shown AS (
    SELECT * FROM run ORDER BY (state = 'running') DESC, coalesce(ended_at, started_at) DESC, run_id
    LIMIT greatest((SELECT count(*) FROM run WHERE state = 'running'), 1)
), jobs AS (
    SELECT k.run_id, j.kind, count(*) AS n_jobs,
           count(*) FILTER (WHERE j.state = 'done' AND coalesce(j.outcome, 'ok') = 'ok') AS n_completed,
           count(*) FILTER (WHERE j.state IN ('failed', 'dead', 'cancelled') OR (j.state = 'done' AND j.outcome <> 'ok')) AS n_failed,
           count(*) FILTER (WHERE j.state = 'leased') AS n_running, min(j.updated_at) AS first_seen,
           min(j.updated_at) FILTER (WHERE j.state IN ('done', 'failed', 'dead') AND j.updated_at > $now::TIMESTAMPTZ - INTERVAL 30 MINUTES) AS since,
           count(*) FILTER (WHERE j.state IN ('done', 'failed', 'dead') AND j.updated_at > $now::TIMESTAMPTZ - INTERVAL 30 MINUTES) AS n_ended
    FROM run_job AS k JOIN job AS j ON j.job_id = k.job_id
    GROUP BY ALL
)
SELECT left(r.run_id::VARCHAR, 8) AS run, r.kind, r.label, if(r.simulated, 'simulated', 'measured') AS times, r.state, r.stage,
       j.kind AS jobs, j.n_completed, j.n_failed, j.n_running, j.n_jobs - j.n_completed - j.n_failed AS n_left,
       if(r.state = 'running' AND j.n_ended > 0 AND j.n_jobs > j.n_completed + j.n_failed,
          round(date_diff('millisecond', j.since, $now::TIMESTAMPTZ) / 1e3 / j.n_ended * (j.n_jobs - j.n_completed - j.n_failed), 1),
          NULL) AS eta_s
FROM shown AS r LEFT JOIN jobs AS j ON j.run_id = r.run_id
ORDER BY r.started_at, j.first_seen NULLS LAST, j.kind;
