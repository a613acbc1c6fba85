-- Where rows came from. A file is known by the sha256 of its bytes; a workload is a set of files.

CREATE TABLE ingest_file (
    file_id             UUID NOT NULL PRIMARY KEY,  -- content id of (sha256, kind, parser version)
    sha256              VARCHAR NOT NULL,
    kind                VARCHAR NOT NULL,           -- format, e.g. hipblaslt-log, bench-stdout, library-logic
    parser_version      INTEGER NOT NULL,
    path                VARCHAR NOT NULL,           -- as given at the first ingest
    n_bytes             BIGINT NOT NULL,
    n_lines             BIGINT,
    n_rows              BIGINT NOT NULL,
    n_rejects           BIGINT NOT NULL,
    detail              JSON,                       -- what the format carries besides rows (validators, banner, version)
    ingested_at         TIMESTAMPTZ NOT NULL
);

CREATE TABLE ingest_reject (
    file_id             UUID NOT NULL,
    line                BIGINT NOT NULL,            -- 1-based, the first line with this text
    n_lines             BIGINT NOT NULL,            -- how many lines of the file read exactly so
    reason              VARCHAR NOT NULL,
    text                VARCHAR NOT NULL            -- cut after 2,000 characters
);

-- One distinct log row with every field, unknown ones too, less call_count.
CREATE TABLE call (
    call_id             UUID NOT NULL,
    problem_id          UUID NOT NULL,
    alpha               DOUBLE,
    beta                DOUBLE,
    solution_index      BIGINT,                     -- as logged; valid only in the build that wrote the log
    fields              JSON NOT NULL
);

CREATE TABLE workload (
    workload_id         UUID NOT NULL PRIMARY KEY,  -- content id of the name
    name                VARCHAR NOT NULL UNIQUE,
    created_at          TIMESTAMPTZ NOT NULL
);

CREATE TABLE workload_file (
    workload_id         UUID NOT NULL,
    file_id             UUID NOT NULL
);

-- Counts are kept per file, so that ingesting a file again can't double them.
CREATE TABLE workload_call (
    file_id             UUID NOT NULL,
    call_id             UUID NOT NULL,
    call_count          BIGINT NOT NULL,            -- sum over the lines of the file
    n_lines             BIGINT NOT NULL,
    first_line          BIGINT NOT NULL
);
