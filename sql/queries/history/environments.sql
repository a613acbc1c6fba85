-- The environments that something was timed in, the richest first, with what was timed there.
SELECT left(e.environment_id::VARCHAR, 8) AS environment, if(e.simulated, 'simulated', 'measured') AS times,
       e.device_name AS device, e.gfx, e.cu_count AS "CUs", e.partition, e.rocm, e.hipblaslt_version AS hipblaslt,
       e.hipblaslt_git AS git, e.driver, e.clock_policy AS clocks, m.problems, m.timings, m.libraries, r.runs,
       strftime(coalesce(m.last, e.first_seen), '%Y-%m-%d %H:%M') AS last_timed
FROM environment AS e
LEFT JOIN (
    SELECT environment_id, count(DISTINCT problem_id) AS problems, count(*) AS timings, count(DISTINCT library_id) AS libraries,
           max(measured_at) AS last
    FROM measurement WHERE outcome = 'ok' GROUP BY environment_id
) AS m ON m.environment_id = e.environment_id
LEFT JOIN (SELECT environment_id, count(*) AS runs FROM run GROUP BY environment_id) AS r ON r.environment_id = e.environment_id
ORDER BY m.timings DESC NULLS LAST, e.environment_id;
