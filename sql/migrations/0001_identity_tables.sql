-- What was multiplied, where, how it is measured, and with which kernels.
-- An id is a UUID made of the first 128 bits of sha256 over the canonical text of the identity (macro content_id).
-- Bulk tables have no primary key: an index over them costs more than the rows. The one writer inserts only ids that
-- are absent, and `geko db check` verifies that they are unique.

CREATE TABLE problem (
    problem_id          UUID NOT NULL,
    trans_a             VARCHAR NOT NULL,           -- N, T or C
    trans_b             VARCHAR NOT NULL,
    m                   BIGINT NOT NULL,            -- column-major sizes, as hipBLASLt counts
    n                   BIGINT NOT NULL,
    batch               BIGINT NOT NULL,
    k                   BIGINT NOT NULL,
    a_type              VARCHAR NOT NULL,           -- hipBLASLt tokens: bf16_r, f8_r, f8_fnuz_r, ...
    b_type              VARCHAR NOT NULL,
    c_type              VARCHAR NOT NULL,
    d_type              VARCHAR NOT NULL,
    compute_type        VARCHAR NOT NULL,           -- without c_: f32_r, xf32_r, f32_fast_bf16_r, ...
    scale_type          VARCHAR NOT NULL,
    scale_a             INTEGER NOT NULL,           -- hipblaslt scaling-format codes, 0 = none
    scale_b             INTEGER NOT NULL,
    scale_c             INTEGER NOT NULL,
    scale_d             INTEGER NOT NULL,
    swizzle_a           BOOLEAN NOT NULL,
    swizzle_b           BOOLEAN NOT NULL,
    bias_type           VARCHAR,                    -- NULL: no bias vector
    bias_source         VARCHAR,                    -- a, b or d; NULL without bias
    activation          VARCHAR NOT NULL,           -- none, gelu, relu, ...
    aux_type            VARCHAR,                    -- NULL: no auxiliary output (use_e)
    gradient            BOOLEAN NOT NULL,
    scale_alpha_vector  BOOLEAN NOT NULL,
    grouped             BOOLEAN NOT NULL,
    alpha_class         VARCHAR NOT NULL CHECK (alpha_class IN ('one', 'other')),
    beta_class          VARCHAR NOT NULL CHECK (beta_class IN ('zero', 'other')),
    lda                 BIGINT,                     -- leading dimensions and strides: NULL where packed
    ldb                 BIGINT,
    ldc                 BIGINT,
    ldd                 BIGINT,
    stride_a            BIGINT,
    stride_b            BIGINT,
    stride_c            BIGINT,
    stride_d            BIGINT
);

CREATE TABLE environment (
    environment_id      UUID NOT NULL PRIMARY KEY,
    simulated           BOOLEAN NOT NULL,           -- true: every time under it is simulated, never measured
    gfx                 VARCHAR,                    -- target with features, e.g. gfx942:sramecc+:xnack-
    device_name         VARCHAR,
    pci_id              VARCHAR,
    cu_count            INTEGER,
    partition           VARCHAR,                    -- compute/memory partition, e.g. SPX/NPS1
    driver              VARCHAR,
    rocm                VARCHAR,
    hip                 VARCHAR,
    hipblaslt_version   VARCHAR,
    hipblaslt_git       VARCHAR,
    clock_policy        VARCHAR,
    env_vars            JSON,                       -- library-relevant environment variables that were set
    identity            JSON NOT NULL,              -- the canonical JSON that was hashed
    detail              JSON,                       -- probe output that is not part of the identity
    first_seen          TIMESTAMPTZ NOT NULL
);

CREATE TABLE device (
    device_id           UUID NOT NULL PRIMARY KEY,  -- content id of (host, ordinal, serial, simulated)
    environment_id      UUID NOT NULL,
    host                VARCHAR NOT NULL,
    ordinal             INTEGER NOT NULL,
    serial              VARCHAR,
    max_sclk_mhz        DOUBLE,
    max_mclk_mhz        DOUBLE,
    memory_gib          DOUBLE,
    detail              JSON,
    quarantined_at      TIMESTAMPTZ,                -- set after N hardware-looking failures in a row
    quarantine_reason   VARCHAR,
    last_seen           TIMESTAMPTZ NOT NULL
);

CREATE TABLE protocol (
    protocol_id         UUID NOT NULL PRIMARY KEY,
    harness             VARCHAR NOT NULL,           -- hipblaslt-bench, tensilelite-client, tunableop, aiter, ...
    role                VARCHAR NOT NULL,           -- baseline, screen, compare, confirm, verify, import
    timer               VARCHAR,                    -- gpu (events), cpu (wall clock)
    iteration_rule      VARCHAR,                    -- duration, fixed, unknown
    duration_s          DOUBLE,                     -- target seconds per timed phase under the duration rule
    iters               INTEGER,
    cold_iters          INTEGER,
    rotating_mib        INTEGER,
    flush               BOOLEAN,
    initialization      VARCHAR,                    -- trig_float, hpl, rand_int, ...
    statistic           VARCHAR,                    -- mean, median, min
    settings            JSON NOT NULL               -- the canonical JSON that was hashed: all of the above and more
);

CREATE TABLE solution (
    solution_id         UUID NOT NULL,
    source              VARCHAR NOT NULL CHECK (source IN ('parameters', 'name')),
    canonical           JSON NOT NULL,              -- the canonical JSON that was hashed
    name                VARCHAR,                    -- the solution name it was first seen under
    gemm_type           VARCHAR,                    -- type letters, e.g. BBS
    operation           VARCHAR,                    -- contraction, e.g. Cijk_Alik_Bljk
    isa                 VARCHAR,                    -- gfx942, gfx950, ...
    mt0                 INTEGER,                    -- macro tile
    mt1                 INTEGER,
    depth_u             INTEGER,
    mi_m                INTEGER,                    -- matrix instruction
    mi_n                INTEGER,
    mi_k                INTEGER,
    mi_b                INTEGER,
    miwt0               INTEGER,                    -- MI wave tile
    miwt1               INTEGER,
    wg0                 INTEGER,
    wg1                 INTEGER,
    wg2                 INTEGER,
    gsu                 INTEGER,                    -- GlobalSplitU
    gsu_algorithm       VARCHAR,
    stream_k            INTEGER,
    wgm                 INTEGER,
    wgm_xcc             INTEGER,
    pgr                 INTEGER,                    -- PrefetchGlobalRead
    plr                 INTEGER,                    -- PrefetchLocalRead
    local_split_u       INTEGER,
    vwa                 INTEGER,
    vwb                 INTEGER,
    grvwa               INTEGER,
    grvwb               INTEGER,
    stagger_u           INTEGER,
    direct_to_lds       BOOLEAN,
    direct_to_vgpr_a    BOOLEAN,
    direct_to_vgpr_b    BOOLEAN,
    custom_kernel       VARCHAR
);

-- One kernel, one solution: an id made from a name joins the id made from parameters once both are known.
CREATE TABLE solution_alias (
    alias_id            UUID NOT NULL,              -- the id to be read as ...
    solution_id         UUID NOT NULL,              -- ... this one
    evidence            VARCHAR NOT NULL            -- library, bench, user
);

-- Names under which a solution was seen (solution name, kernel name); kernel names lack the run-time tokens.
CREATE TABLE solution_name (
    solution_id         UUID NOT NULL,
    kind                VARCHAR NOT NULL CHECK (kind IN ('solution', 'kernel')),
    name                VARCHAR NOT NULL
);

CREATE TABLE library (
    library_id          UUID NOT NULL PRIMARY KEY,  -- content hash of the logic set or the built library
    kind                VARCHAR NOT NULL CHECK (kind IN ('logic', 'built', 'override', 'external')),
    name                VARCHAR,
    arch                VARCHAR,
    cu_count            INTEGER,
    schedule            VARCHAR,
    n_solutions         BIGINT,
    n_sizes             BIGINT,
    origin              VARCHAR,                    -- stock, search, tune, ingest
    content_sha256      VARCHAR NOT NULL,
    path                VARCHAR,                    -- where it was last seen; no part of the identity
    detail              JSON,
    first_seen          TIMESTAMPTZ NOT NULL
);

-- A solution index means something only inside one library build: a mapping, never an identity.
CREATE TABLE library_solution (
    library_id          UUID NOT NULL,
    solution_index      BIGINT NOT NULL,            -- index in the built library (MatchTable), or in the logic file
    solution_id         UUID,                       -- NULL while only the MatchTable is known
    logic_file          VARCHAR,                    -- relative path or base name of the logic file
    library_type        VARCHAR,                    -- Equality, GridBased, ...
    local_index         BIGINT                      -- SolutionIndex inside the logic file
);

CREATE TABLE library_entry (
    library_id          UUID NOT NULL,
    logic_file          VARCHAR NOT NULL,
    library_type        VARCHAR,
    trans_a             VARCHAR,
    trans_b             VARCHAR,
    a_type              VARCHAR,
    b_type              VARCHAR,
    c_type              VARCHAR,
    compute_type        VARCHAR,
    m                   BIGINT,
    n                   BIGINT,
    batch               BIGINT,
    k                   BIGINT,
    ldd                 BIGINT,                     -- NULL for 4-number sizes
    ldc                 BIGINT,
    lda                 BIGINT,
    ldb                 BIGINT,
    local_index         BIGINT NOT NULL,
    solution_id         UUID,
    efficiency          DOUBLE                      -- as stored: GFLOP/s under metric DeviceEfficiency, often 0
);
