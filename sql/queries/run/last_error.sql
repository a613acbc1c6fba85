-- The error with which a run ended last; NULL when it is new, finished or was interrupted.
SELECT summary ->> '$.error' AS error FROM run WHERE run_id = $run_id::UUID;
