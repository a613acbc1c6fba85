-- Time of a GEMM before anything was measured, for ordering and time-outs only: the slower of 100 TFLOP/s and 1 TB/s, plus 5 µs.
CREATE OR REPLACE MACRO guessed_us(p) AS
    5.0 + greatest(2e0 * p.m * p.n * p.k * p.batch / 1e8,
                   2e0 * p.batch * (p.m::DOUBLE * p.k + p.k::DOUBLE * p.n + p.m::DOUBLE * p.n) / 1e6);
