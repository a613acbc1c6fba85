-- Target and number of CUs of the devices of a run.
SELECT split_part(e.gfx, ':', 1) AS target, e.cu_count
FROM run AS r JOIN environment AS e ON e.environment_id = r.environment_id
WHERE r.run_id = $run_id::UUID;
