-- The runs, the newest first.
SELECT left(r.run_id::VARCHAR, 8) AS run, r.kind, r.label, r.state, r.stage, if(r.simulated, 'simulated', 'measured') AS times,
       e.device_name AS device, e.hipblaslt_version AS hipblaslt, (SELECT count(*) FROM run_problem AS p WHERE p.run_id = r.run_id) AS shapes,
       (SELECT count(*) FROM selection AS s WHERE s.run_id = r.run_id AND s.class = 'kept') AS kept,
       r.n_starts AS starts, strftime(r.started_at, '%Y-%m-%d %H:%M:%S') AS started,
       strftime(r.ended_at, '%Y-%m-%d %H:%M:%S') AS ended, r.workdir
FROM run AS r LEFT JOIN environment AS e ON e.environment_id = r.environment_id
ORDER BY r.started_at DESC, r.run_id;
