-- Whether table selection holds what the views say of a run now: it ended by itself, and the views are those that decided it. A
-- finished run without verdicts has none, nor has one that only takes times or writes configs.
SELECT r.kind IN ('bench', 'configure', 'guard') OR (r.options ->> '$.rows') IS NOT NULL
       OR (r.state = 'finished' AND (s.decided_at IS NULL
           OR (r.summary ->> '$.views') IS NOT DISTINCT FROM (SELECT max(sha256) FROM schema_object WHERE kind = 'all'))) AS is_current,
       s.decided_at
FROM run AS r
LEFT JOIN (SELECT run_id, max(decided_at) AS decided_at FROM selection GROUP BY run_id) AS s ON s.run_id = r.run_id
WHERE r.run_id = $run_id::UUID;
