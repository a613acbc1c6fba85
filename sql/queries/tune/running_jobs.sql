-- The tuning jobs that run now, a line each as in the original's running_jobs.log; the slot counts the jobs of a device.
SELECT concat('device=', device, ' | slot=', slot, ' | n_gen=', printf('%02d', coalesce(generation, 0)), ' | log=''',
              $folder, '/build_', name, '/', name, '-tensilelite.log''') AS line
FROM (
    SELECT coalesce(d.ordinal, 0) AS device, t.config_name AS name, t.generation,
           row_number() OVER (PARTITION BY t.device_id ORDER BY t.config_name) - 1 AS slot
    FROM run_tuning AS t
    LEFT JOIN device AS d ON d.device_id = t.device_id
    WHERE t.run_id = $run_id::UUID AND t.state = 'leased'
)
ORDER BY line;
