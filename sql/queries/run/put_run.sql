-- Start a run, or start it again where it stopped.
INSERT INTO run BY NAME
SELECT $run_id::UUID AS run_id, $kind AS kind, $label AS label, 'running' AS state, $stage AS stage, $simulated::BOOLEAN AS simulated,
       $workload_id::UUID AS workload_id, $environment_id::UUID AS environment_id, $library_id::UUID AS library_id,
       $options::JSON AS options, $workdir AS workdir, $pid::INTEGER AS pid, $host AS host, 1 AS n_starts, $now::TIMESTAMPTZ AS started_at
ON CONFLICT (run_id) DO UPDATE SET
    state = 'running', stage = excluded.stage, workdir = excluded.workdir, pid = excluded.pid, host = excluded.host,
    n_starts = run.n_starts + 1, ended_at = NULL;
