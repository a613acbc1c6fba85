-- Peak rates of the GPUs, from the arch table: a timing above them is no timing.
CREATE TABLE arch_peak (
    arch                VARCHAR NOT NULL,
    a_type              VARCHAR NOT NULL,
    compute_type        VARCHAR NOT NULL,
    peak_gflops         DOUBLE NOT NULL             -- dense matrix peak in GFLOP/s of the fastest product of the target
);
