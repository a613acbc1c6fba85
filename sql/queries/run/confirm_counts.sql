-- How the confirmation of a run stands, in one row.
SELECT count(*) FILTER (WHERE state = 'kept') AS n_kept, count(*) FILTER (WHERE state = 'rejected') AS n_rejected,
       count(*) FILTER (WHERE state = 'open') AS n_open, coalesce(sum(n_pairs), 0)::BIGINT AS n_pairs,
       coalesce(sum(spent_s), 0)::DOUBLE AS spent_s
FROM run_confirm WHERE run_id = $run_id::UUID
HAVING count(*) > 0;
