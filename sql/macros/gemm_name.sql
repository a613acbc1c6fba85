-- Name of a problem's GEMM type, such as BBS_TN or F8B8BS_NN.
CREATE OR REPLACE MACRO gemm_name(p) AS
    concat(type_letter(p.a_type), if(p.b_type <> p.a_type, type_letter(p.b_type), ''), type_letter(p.c_type),
           type_letter(p.compute_type), '_', p.trans_a, p.trans_b);
