-- Name of a problem's GEMM type, such as BBS_TN or F8B8BS_NN: the letters that its config and its library logic have. TF32 is named
-- by the inputs (XSS), and complex sums by the matrices.
CREATE OR REPLACE MACRO gemm_name(p) AS
    concat(if(p.compute_type = 'xf32_r', 'X', concat(type_letter(p.a_type), if(p.b_type <> p.a_type, type_letter(p.b_type), ''))),
           type_letter(p.c_type),
           CASE WHEN p.compute_type = 'xf32_r' THEN 'S' WHEN p.a_type IN ('f32_c', 'f64_c') THEN type_letter(p.a_type)
                ELSE type_letter(p.compute_type) END,
           '_', p.trans_a, p.trans_b);
