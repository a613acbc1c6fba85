-- Type letters and transposes as people name a GEMM type, such as BBS_TN (Tensile's letters: DataType, DestDataType,
-- ComputeDataType); tokens without a letter stand as they are.
CREATE OR REPLACE MACRO type_letter(token) AS
    CASE token
        WHEN 'bf16_r' THEN 'B' WHEN 'f16_r' THEN 'H' WHEN 'f32_r' THEN 'S' WHEN 'f64_r' THEN 'D'
        WHEN 'f8_r' THEN 'F8' WHEN 'bf8_r' THEN 'B8' WHEN 'f8_fnuz_r' THEN 'F8N' WHEN 'bf8_fnuz_r' THEN 'B8N'
        WHEN 'xf32_r' THEN 'X' WHEN 'f4_r' THEN 'F4' WHEN 'f6_r' THEN 'F6' WHEN 'bf6_r' THEN 'B6'
        WHEN 'f32_c' THEN 'C' WHEN 'f64_c' THEN 'Z' WHEN 'i8_r' THEN 'I8' WHEN 'i32_r' THEN 'I' ELSE token END;
