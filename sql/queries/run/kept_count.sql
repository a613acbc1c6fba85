-- How many problems of a run are kept, and their share of the time.
SELECT count(*) AS n_problems, count(*) FILTER (WHERE kept) AS n_kept, sum(share_pct) FILTER (WHERE kept) AS share_pct
FROM run_contribution WHERE run_id = $run_id::UUID;
