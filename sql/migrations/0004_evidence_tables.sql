-- What was measured, append-only. A failed measurement is a row with an outcome.

CREATE TABLE measurement (
    measurement_id      UUID NOT NULL,
    problem_id          UUID NOT NULL,
    solution_id         UUID,                       -- NULL where the harness doesn't say
    library_id          UUID,
    environment_id      UUID NOT NULL,
    protocol_id         UUID NOT NULL,
    run_id              UUID,
    job_id              UUID,
    file_id             UUID,                       -- of an ingested result
    attempt             INTEGER,
    block_id            UUID,                       -- same device, interleaved, minutes apart: only these pair up
    round               INTEGER,
    arm                 VARCHAR,                    -- reference, tuned; NULL outside comparisons
    device_id           UUID,
    rank                INTEGER,                    -- [i] of the candidate in its run; NULL: chosen by the library
    winner_echo         BOOLEAN,                    -- the block printed again after "Winner:": no new sample
    solution_index      BIGINT,
    outcome             VARCHAR NOT NULL CHECK (outcome IN (
        'ok', 'verify_failed', 'no_solution', 'unsupported', 'build_failed', 'timeout', 'hang', 'memory_fault', 'crash', 'lost', 'late',
        'parse_error', 'skipped', 'not_checked')),
    us                  DOUBLE,                     -- mean µs a GEMM, as printed
    gflops              DOUBLE,
    gbps                DOUBLE,
    iters               INTEGER,
    cold_iters          INTEGER,
    n_samples           INTEGER,
    spread              DOUBLE,                     -- coefficient of variation, where the harness prints it
    sclk_mhz            DOUBLE,
    mclk_mhz            DOUBLE,
    workspace           BIGINT,                     -- bytes
    measured_at         TIMESTAMPTZ,
    extra               JSON                        -- every other column that was printed
);

CREATE TABLE validation (
    validation_id       UUID NOT NULL,
    problem_id          UUID NOT NULL,
    solution_id         UUID,
    library_id          UUID,
    environment_id      UUID NOT NULL,
    protocol_id         UUID NOT NULL,
    run_id              UUID,
    job_id              UUID,
    file_id             UUID,
    attempt             INTEGER,
    device_id           UUID,
    solution_index      BIGINT,
    outcome             VARCHAR NOT NULL CHECK (outcome IN ('passed', 'failed', 'not_checked', 'error')),
    norm_error          DOUBLE,                     -- as printed, never divided by the batch count
    atol                VARCHAR,                    -- the tolerance that passes, or "failed"
    rtol                VARCHAR,
    measured_at         TIMESTAMPTZ,
    extra               JSON
);

-- Whole outputs of programs, kept once by content.
CREATE TABLE output (
    output_id           UUID NOT NULL,
    sha256              VARCHAR NOT NULL,
    n_bytes             BIGINT NOT NULL,
    text                VARCHAR NOT NULL
);
