-- FLOP per byte of a GEMM: 2mnk over the bytes of A, B and one write of D; the batch cancels.
CREATE OR REPLACE MACRO arithmetic_intensity(p) AS
    2e0 * p.m * p.n * p.k
    / (type_bytes(p.a_type) * p.m * p.k + type_bytes(p.b_type) * p.k * p.n + type_bytes(p.c_type) * p.m * p.n);
