-- Size of one element in bytes; NULL for unknown tokens.
CREATE OR REPLACE MACRO type_bytes(token) AS
    CAST(CASE
        WHEN token IN ('f64_c') THEN 16.0
        WHEN token IN ('f64_r', 'f32_c', 'i64_r') THEN 8.0
        WHEN token IN ('f32_r', 'xf32_r', 'i32_r') THEN 4.0
        WHEN token IN ('f16_r', 'bf16_r') THEN 2.0
        WHEN token IN ('f8_r', 'bf8_r', 'f8_fnuz_r', 'bf8_fnuz_r', 'i8_r') THEN 1.0
        WHEN token IN ('f6_r', 'bf6_r') THEN 0.75
        WHEN token IN ('f4_r') THEN 0.5
    END AS DOUBLE);
