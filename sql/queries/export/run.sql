-- One run with what it stands on.
SELECT r.run_id::VARCHAR AS run_id, r.kind, r.label, r.state, r.stage, r.simulated, r.options::VARCHAR AS options, r.workdir,
       r.started_at, r.ended_at, r.library_id::VARCHAR AS library_id, r.tuned_library_id::VARCHAR AS tuned_library_id,
       r.workload_id::VARCHAR AS workload_id, l.path AS library_path, t.path AS tuned_library_path,
       e.gfx, e.device_name, e.hipblaslt_version, e.hipblaslt_git, e.rocm
FROM run AS r
LEFT JOIN library AS l ON l.library_id = r.library_id
LEFT JOIN library AS t ON t.library_id = r.tuned_library_id
LEFT JOIN environment AS e ON e.environment_id = r.environment_id
WHERE r.run_id = $run_id::UUID;
