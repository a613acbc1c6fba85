-- The tuning jobs that run now: a line each as in the original's running_jobs.log (the slot counts the jobs of a device), and how
-- far it is, for people.
SELECT concat('device=', device, ' | slot=', slot, ' | n_gen=', printf('%02d', coalesce(generation, 0)), ' | log=''',
              $folder, '/build_', name, '/', name, '-tensilelite.log''') AS line,
       -- || is NULL where a part is, concat isn't.
       concat(name, ' ', coalesce('generation ' || generation, 'at: ' || phase, 'begins'),
              coalesce(', ' || n_done || coalesce(' of ' || n_total, '') || ' kernels', ''),
              coalesce(printf(', best %.1f TFLOP/s%s', best_gflops / 1e3, if(simulated, ' (simulated)', '')), '')) AS told
FROM (
    SELECT coalesce(d.ordinal, 0) AS device, t.config_name AS name, t.generation, t.phase, t.n_done, t.n_total, t.best_gflops, r.simulated,
           row_number() OVER (PARTITION BY t.device_id ORDER BY t.config_name) - 1 AS slot
    FROM run_tuning AS t
    JOIN run AS r ON r.run_id = t.run_id
    LEFT JOIN device AS d ON d.device_id = t.device_id
    WHERE t.run_id = $run_id::UUID AND t.state = 'leased'
)
ORDER BY line;
