-- Verdicts of the confirmation, judged again after every look from the evidence in table measurement.
CREATE TABLE confirmation (
    run_id              UUID NOT NULL,
    problem_id          UUID NOT NULL,
    solution_id         UUID NOT NULL,              -- the candidate
    solution_index      BIGINT,
    reference_id        UUID,                       -- the kernel that the reference library chose
    n_candidates        INTEGER NOT NULL,           -- candidates that were tried for the shape
    n_looks             INTEGER NOT NULL,
    n_pairs             INTEGER NOT NULL,
    us_reference        DOUBLE NOT NULL,
    us_candidate        DOUBLE NOT NULL,
    ratio               DOUBLE NOT NULL,            -- median reference / candidate
    ratio_low           DOUBLE NOT NULL,            -- bounds that hold for all looks and candidates at once
    ratio_high          DOUBLE NOT NULL,
    ratio_reject        DOUBLE NOT NULL,            -- upper bound for giving a candidate up
    spread              DOUBLE NOT NULL,            -- standard deviation of a pair's log ratio
    log_ratio_se        DOUBLE NOT NULL,
    confidence          DOUBLE NOT NULL,
    state               VARCHAR NOT NULL CHECK (state IN ('kept', 'rejected', 'open')),
    n_keep              DOUBLE,                     -- pairs that would keep or reject it
    n_reject            DOUBLE,
    loss                DOUBLE,                     -- mean ln(time / time of the best candidate) over the rounds of both
    loss_low            DOUBLE,                     -- its lower bound, 97.5 %
    simulated           BOOLEAN NOT NULL,
    decided_at          TIMESTAMPTZ NOT NULL
);

ALTER TABLE selection ADD COLUMN confidence DOUBLE;       -- of the interval, such as 0.99
ALTER TABLE selection ADD COLUMN log_ratio_se DOUBLE;     -- standard error of ln(ratio)
ALTER TABLE selection ADD COLUMN n_looks INTEGER;
ALTER TABLE selection ADD COLUMN n_candidates INTEGER;
ALTER TABLE selection ADD COLUMN check_outcome VARCHAR;   -- of the correctness check; NULL: none was made
