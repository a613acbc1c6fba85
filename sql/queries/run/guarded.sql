-- What a run that is to be guarded stands on.
SELECT r.run_id::VARCHAR AS run_id, r.kind, r.simulated, r.library_id::VARCHAR AS library_id, w.name AS workload, l.origin,
       l.path AS library_path, r.environment_id::VARCHAR AS environment_id, (SELECT count(*) FROM selection AS s WHERE s.run_id = r.run_id) AS n_decided
FROM run AS r
LEFT JOIN workload AS w ON w.workload_id = r.workload_id
LEFT JOIN library AS l ON l.library_id = r.library_id
WHERE r.run_id = $run_id::UUID;
