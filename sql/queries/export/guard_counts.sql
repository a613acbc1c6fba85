-- How many shapes of a guard are in each class.
SELECT count(*) FILTER (WHERE NOT tuned) AS n_untuned, count(*) FILTER (WHERE tuned) AS n_tuned,
       count(*) FILTER (WHERE NOT tuned AND class IN ('unchanged', 'other_kernel')) AS n_unchanged,
       count(*) FILTER (WHERE class = 'other_kernel') AS n_other_kernel, count(*) FILTER (WHERE class = 'slower') AS n_slower,
       count(*) FILTER (WHERE class = 'faster') AS n_faster, count(*) FILTER (WHERE class = 'undecided') AS n_undecided,
       count(*) FILTER (WHERE class = 'applied') AS n_applied, count(*) FILTER (WHERE class = 'not_applied') AS n_not_applied,
       count(*) FILTER (WHERE class = 'not_compared') AS n_not_compared
FROM run_guard WHERE run_id = $run_id::UUID;
