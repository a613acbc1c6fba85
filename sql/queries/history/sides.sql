-- What a text names: an environment, a library or a run, by the start of its id or by its whole name.
SELECT 'environment' AS kind, environment_id::VARCHAR AS id, simulated, false AS mixed,
       concat_ws(', ', device_name, gfx, 'ROCm ' || rocm, 'hipBLASLt ' || hipblaslt_version, hipblaslt_git) AS label
FROM environment WHERE starts_with(environment_id::VARCHAR, lower($text))
UNION ALL
SELECT 'library', l.library_id::VARCHAR, coalesce(bool_and(e.simulated), false), coalesce(bool_or(e.simulated) AND NOT bool_and(e.simulated), false),
       concat_ws(', ', l.name, l.arch, l.origin)
FROM library AS l
LEFT JOIN (SELECT DISTINCT library_id, environment_id FROM measurement) AS m ON m.library_id = l.library_id
LEFT JOIN environment AS e ON e.environment_id = m.environment_id
WHERE starts_with(l.library_id::VARCHAR, lower($text)) OR l.name = $text
GROUP BY l.library_id, l.name, l.arch, l.origin
UNION ALL
SELECT 'run', run_id::VARCHAR, simulated, false, concat_ws(', ', kind, label, strftime(started_at, '%Y-%m-%d %H:%M'))
FROM run WHERE starts_with(run_id::VARCHAR, lower($text)) OR label = $text
ORDER BY kind, id;
