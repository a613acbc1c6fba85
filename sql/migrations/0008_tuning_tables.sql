-- New kernels: tensilelite configs as rows, which run asked for them, what became of each size, and what their jobs left.

-- One tuning config, known by its text. An edited file is another config.
CREATE TABLE tuning_config (
    config_id           UUID NOT NULL,              -- content id of the text
    name                VARCHAR NOT NULL,           -- file stem it was first seen under
    origin              VARCHAR NOT NULL CHECK (origin IN ('generated', 'file')),
    backend             VARCHAR NOT NULL CHECK (backend IN ('ductile', 'tensile')),
    arch                VARCHAR NOT NULL,           -- arch key, e.g. gfx942 or gfx942_80cu
    gemm                VARCHAR NOT NULL,           -- e.g. BBS_TN
    dialect             VARCHAR,                    -- spelling of its parameters: streamk, strategy
    search_space        VARCHAR,                    -- heuristic, generic, subtile; NULL where the text doesn't say
    rules               VARCHAR,                    -- default, original; NULL where the text doesn't say
    protocol_id         UUID NOT NULL,              -- how its kernels are timed: iterations, buffers, data, epilogue of the text
    n_sizes             INTEGER NOT NULL,
    n_tiles             INTEGER NOT NULL,           -- entries of the macro-tile dimension
    n_kernels           HUGEINT NOT NULL,           -- kernels of the full product
    yaml                VARCHAR NOT NULL,
    first_seen          TIMESTAMPTZ NOT NULL
);

-- The plain problems (packed, no epilogue) that a config tunes, in the order of its ProblemSizes.
CREATE TABLE tuning_config_problem (
    config_id           UUID NOT NULL,
    problem_id          UUID NOT NULL,
    seq                 INTEGER NOT NULL
);

-- The configs of a run, as its folder optimizations/ stands.
CREATE TABLE run_config (
    run_id              UUID NOT NULL,
    config_id           UUID NOT NULL,
    file_name           VARCHAR NOT NULL,
    state               VARCHAR NOT NULL CHECK (state IN ('generated', 'edited', 'added', 'removed', 'refused')),
    reason              VARCHAR                     -- why it was removed or refused
);

-- What became of each size that a run wanted configs for.
CREATE TABLE run_size (
    run_id              UUID NOT NULL,
    seq                 INTEGER NOT NULL,
    problem_id          UUID,                       -- the plain problem of the size
    gemm                VARCHAR NOT NULL,
    m                   BIGINT NOT NULL,
    n                   BIGINT NOT NULL,
    batch               BIGINT NOT NULL,
    k                   BIGINT NOT NULL,
    state               VARCHAR NOT NULL CHECK (state IN ('kept', 'dropped')),
    reason              VARCHAR NOT NULL,           -- why it was dropped, or what was done to keep it; else empty
    n_tiles             INTEGER NOT NULL,
    n_kernels           HUGEINT NOT NULL,
    config_name         VARCHAR                     -- file stem of its config; NULL when dropped
);

-- Which config a tuning job runs.
CREATE TABLE tuning_job (
    job_id              UUID NOT NULL,
    config_id           UUID NOT NULL
);

-- Files that a tuning job left: library logic and reports.
CREATE TABLE tuning_output (
    job_id              UUID NOT NULL,
    attempt             INTEGER NOT NULL,
    path                VARCHAR NOT NULL,           -- relative to the build folder
    content             VARCHAR NOT NULL
);

-- How far a tuning job is: the newest row counts.
CREATE TABLE tuning_progress (
    job_id              UUID NOT NULL,
    attempt             INTEGER NOT NULL,
    reported_at         TIMESTAMPTZ NOT NULL,
    phase               VARCHAR NOT NULL,           -- client, generation, benchmark, analysis, ...
    generation          INTEGER,                    -- of the genetic algorithm
    n_done              BIGINT,                     -- evaluations
    n_total             BIGINT,                     -- NULL where it isn't known
    best_gflops         DOUBLE                      -- of the best kernel so far
);
