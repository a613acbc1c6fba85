-- What a library logic file serves besides its sizes, which libraries are made of others, and for what a row of a tuned
-- table was tuned.

CREATE TABLE logic_header (
    library_id          UUID NOT NULL,              -- the library that the logic file is
    layout              VARCHAR NOT NULL,           -- list, dict
    library_type        VARCHAR,                    -- Equality, GridBased, FreeSize, ...
    metric              VARCHAR,                    -- unit of the efficiencies: DeviceEfficiency stands for GFLOP/s
    trans_a             VARCHAR,
    trans_b             VARCHAR,
    a_type              VARCHAR,
    b_type              VARCHAR,
    c_type              VARCHAR,
    compute_type        VARCHAR,
    mx_scale_a          INTEGER NOT NULL,           -- hipblaslt scaling-format code of the block scales, 0 = none
    mx_scale_b          INTEGER NOT NULL,
    swizzle_a           BOOLEAN NOT NULL,
    swizzle_b           BOOLEAN NOT NULL,
    use_bias            INTEGER NOT NULL,           -- 0 none, 1 along M, 2 along N, 3 either
    bias_types          VARCHAR[] NOT NULL,
    bias_sources        VARCHAR[] NOT NULL,         -- a, b, d
    activation          VARCHAR NOT NULL,           -- ActivationType: none, hipblaslt_all, all, relu, ...
    use_e               BOOLEAN NOT NULL,
    gradient            BOOLEAN NOT NULL,
    use_scale_ab        VARCHAR NOT NULL,           -- '', Scalar, Vector
    use_scale_cd        BOOLEAN NOT NULL,
    scale_alpha_vector  BOOLEAN NOT NULL,
    grouped             BOOLEAN NOT NULL,
    problem_type        JSON NOT NULL               -- all of ProblemType, as in the file
);

-- A folder of logic files is a library whose members are the libraries that its files are.
CREATE TABLE library_member (
    library_id          UUID NOT NULL,
    member_id           UUID NOT NULL,
    path                VARCHAR NOT NULL            -- of the file, relative to the folder
);

ALTER TABLE library_entry ADD COLUMN problem_id UUID;
ALTER TABLE library_entry ADD COLUMN arch VARCHAR;
ALTER TABLE library_entry ADD COLUMN cu_count INTEGER;
