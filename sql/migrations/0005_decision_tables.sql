-- What was decided and what was written out.

CREATE TABLE selection (
    run_id              UUID NOT NULL,
    problem_id          UUID NOT NULL,
    class               VARCHAR NOT NULL,           -- kept, same_kernel, small_gain, undecided, wrong_result, no_solution, ...
    reason              VARCHAR NOT NULL,           -- one sentence with the figures
    simulated           BOOLEAN NOT NULL,
    rule                VARCHAR NOT NULL,
    reference_solution_id UUID,
    tuned_solution_id   UUID,
    us_reference        DOUBLE,
    us_tuned            DOUBLE,
    ratio               DOUBLE,
    ratio_low           DOUBLE,
    ratio_high          DOUBLE,
    n_pairs             INTEGER,
    share_pct           DOUBLE,                     -- share of the workload's time, %
    decided_at          TIMESTAMPTZ NOT NULL
);

CREATE TABLE export_file (
    run_id              UUID,
    kind                VARCHAR NOT NULL,
    path                VARCHAR NOT NULL,
    sha256              VARCHAR NOT NULL,
    n_bytes             BIGINT NOT NULL,
    simulated           BOOLEAN NOT NULL,
    exported_at         TIMESTAMPTZ NOT NULL
);
