-- How a run timed: its protocols with jobs and samples.
WITH timed AS (
    SELECT if(role = 'qualify', role, job_kind) AS stage, count(*) AS samples FROM run_timing WHERE run_id = $run_id::UUID GROUP BY ALL
), used AS (
    SELECT if(t.role = 'qualify', t.role, j.kind) AS stage, j.job_id, j.state, t.harness, t.timer, t.iteration_rule, t.duration_s, t.rotating_mib,
           t.flush, t.initialization
    FROM run_job AS r
    JOIN job AS j ON j.job_id = r.job_id
    JOIN protocol AS t ON t.protocol_id = j.protocol_id
    WHERE r.run_id = $run_id::UUID
)
SELECT u.stage, u.harness, u.timer, u.iteration_rule AS iterations, u.duration_s AS seconds, u.rotating_mib AS "rotating MiB", u.flush,
       u.initialization, count(DISTINCT u.job_id) AS jobs, count(DISTINCT u.job_id) FILTER (WHERE u.state <> 'done') AS not_done,
       any_value(n.samples) AS samples
FROM used AS u
LEFT JOIN timed AS n ON n.stage = u.stage
GROUP BY ALL ORDER BY list_position(['baseline', 'screen', 'qualify', 'tune', 'confirm', 'compare', 'verify'], any_value(u.stage)), u.harness;
