-- How many problems of a run are kept by their share of the time, their share together, and how many because the reference
-- library has no solution for them.
SELECT count(*) AS n_problems, count(*) FILTER (WHERE kept) AS n_kept, sum(share_pct) FILTER (WHERE kept) AS share_pct,
       count(*) FILTER (WHERE kept AND us IS NULL) AS n_new
FROM run_contribution WHERE run_id = $run_id::UUID;
