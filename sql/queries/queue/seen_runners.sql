-- Runners that asked for work or sent a heartbeat (input: seen).
INSERT INTO runner BY NAME
SELECT runner, pid, host, device_id::UUID AS device_id, ordinal, $now::TIMESTAMPTZ AS started_at, $now::TIMESTAMPTZ AS last_seen
FROM seen
ON CONFLICT (runner) DO UPDATE SET last_seen = excluded.last_seen, ended_at = NULL,
    device_id = coalesce(excluded.device_id, runner.device_id), pid = coalesce(excluded.pid, runner.pid),
    host = coalesce(excluded.host, runner.host), ordinal = coalesce(excluded.ordinal, runner.ordinal);
