-- Runs and their queue. All job state is in these tables; changing a pending row changes what runs next.
-- No index and no foreign key on job: its rows change all the time.

CREATE TABLE run (
    run_id              UUID NOT NULL PRIMARY KEY,  -- content id of kind, inputs, options, environment and library
    kind                VARCHAR NOT NULL,           -- bench, search, tune, ...
    label               VARCHAR,
    state               VARCHAR NOT NULL CHECK (state IN ('running', 'finished', 'failed', 'interrupted')),
    stage               VARCHAR,                    -- baseline, search, build, compare, verify, export
    simulated           BOOLEAN NOT NULL,
    workload_id         UUID,
    environment_id      UUID,
    library_id          UUID,                       -- the reference library
    tuned_library_id    UUID,
    options             JSON NOT NULL,
    summary             JSON,
    workdir             VARCHAR,
    pid                 INTEGER,
    host                VARCHAR,
    n_starts            INTEGER NOT NULL,
    started_at          TIMESTAMPTZ NOT NULL,
    ended_at            TIMESTAMPTZ
);

-- The problems of a run with their weight, fixed when the run is planned.
CREATE TABLE run_problem (
    run_id              UUID NOT NULL,
    problem_id          UUID NOT NULL,
    seq                 INTEGER NOT NULL,           -- order of first appearance in the input
    call_count          BIGINT NOT NULL,
    kept                BOOLEAN                     -- above keep-thr; NULL until the baseline is known
);

CREATE TABLE job (
    job_id              UUID NOT NULL,              -- the job key: content id of kind, problems, libraries, protocol, environment, block
    kind                VARCHAR NOT NULL,           -- baseline, search, compare, verify, ...
    state               VARCHAR NOT NULL CHECK (state IN ('pending', 'leased', 'done', 'failed', 'dead', 'cancelled')),
    priority            DOUBLE NOT NULL,            -- higher first
    cost_s              DOUBLE NOT NULL,            -- estimated seconds on the device; longest first among equals
    batch_key           VARCHAR NOT NULL,           -- jobs of one batch key may share one process
    run_id              UUID,                       -- the run that made it
    problem_id          UUID,                       -- NULL for a job of several problems
    library_id          UUID,
    protocol_id         UUID NOT NULL,
    environment_id      UUID NOT NULL,
    attempts            INTEGER NOT NULL,
    max_attempts        INTEGER NOT NULL,
    alone               BOOLEAN NOT NULL,           -- true: suspected of killing its process, so it runs by itself
    timeout_s           DOUBLE NOT NULL,            -- counted from the real start of its process
    not_before          TIMESTAMPTZ,                -- back-off after a retryable failure
    token               UUID,                       -- of the current lease
    runner              VARCHAR,
    device_id           UUID,
    lease_until         TIMESTAMPTZ,
    outcome             VARCHAR,                    -- of the last attempt
    updated_at          TIMESTAMPTZ NOT NULL
);

-- What a job is to do: written once, read when it is claimed.
CREATE TABLE job_spec (
    job_id              UUID NOT NULL,
    spec                JSON NOT NULL
);

CREATE TABLE run_job (
    run_id              UUID NOT NULL,
    job_id              UUID NOT NULL
);

CREATE TABLE job_attempt (
    job_id              UUID NOT NULL,
    attempt             INTEGER NOT NULL,
    token               UUID NOT NULL,
    runner              VARCHAR NOT NULL,
    device_id           UUID,
    started_at          TIMESTAMPTZ,
    ended_at            TIMESTAMPTZ NOT NULL,
    outcome             VARCHAR NOT NULL CHECK (outcome IN (
        'ok', 'verify_failed', 'no_solution', 'unsupported', 'build_failed', 'timeout', 'hang', 'memory_fault', 'crash', 'lost', 'late',
        'parse_error', 'released', 'tool_missing')),
    late                BOOLEAN NOT NULL,           -- came after its lease was lost: evidence only
    message             VARCHAR,
    command             VARCHAR,
    exit_code           INTEGER,
    output_id           UUID
);

CREATE TABLE runner (
    runner              VARCHAR NOT NULL PRIMARY KEY,
    pid                 INTEGER,
    host                VARCHAR,
    device_id           UUID,
    ordinal             INTEGER,
    started_at          TIMESTAMPTZ NOT NULL,
    last_seen           TIMESTAMPTZ NOT NULL,
    ended_at            TIMESTAMPTZ
);
