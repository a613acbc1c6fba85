-- The next look that open shapes of a run wait for, behind look $look; none when there are no such shapes.
SELECT min(n_looks) + 1 AS look FROM run_confirm WHERE run_id = $run_id::UUID AND state = 'open' AND n_looks >= $look;
