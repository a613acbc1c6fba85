-- How a run timed: its protocols with jobs and samples.
SELECT j.kind AS stage, t.harness, t.timer, t.iteration_rule AS iterations, t.duration_s AS seconds, t.rotating_mib AS "rotating MiB", t.flush,
       t.initialization, count(DISTINCT j.job_id) AS jobs, count(DISTINCT j.job_id) FILTER (WHERE j.state <> 'done') AS not_done,
       any_value(n.samples) AS samples
FROM run_job AS r
JOIN job AS j ON j.job_id = r.job_id
JOIN protocol AS t ON t.protocol_id = j.protocol_id
LEFT JOIN (SELECT run_id, job_kind, count(*) AS samples FROM run_timing GROUP BY ALL) AS n ON n.run_id = r.run_id AND n.job_kind = j.kind
WHERE r.run_id = $run_id::UUID
GROUP BY ALL ORDER BY list_position(['baseline', 'screen', 'tune', 'confirm', 'compare', 'verify'], any_value(j.kind)), t.harness;
