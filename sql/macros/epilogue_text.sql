-- What a problem wants besides the product, in words; 'none' for a plain GEMM.
CREATE OR REPLACE MACRO epilogue_text(p) AS
    coalesce(nullif(concat_ws(', ',
        CASE WHEN p.bias_type IS NOT NULL
             THEN concat('bias ', p.bias_type, CASE WHEN coalesce(p.bias_source, 'd') <> 'd' THEN concat(' from ', p.bias_source) ELSE '' END)
        END,
        nullif(p.activation, 'none'),
        CASE WHEN p.scale_a > 0 OR p.scale_b > 0 THEN concat('scale A/B ', p.scale_a, '/', p.scale_b) END,
        CASE WHEN p.scale_c > 0 OR p.scale_d > 0 THEN concat('scale C/D ', p.scale_c, '/', p.scale_d) END,
        CASE WHEN p.scale_alpha_vector THEN 'vector of alphas' END,
        CASE WHEN p.aux_type IS NOT NULL THEN concat('auxiliary output ', p.aux_type) END,
        CASE WHEN p.gradient THEN 'gradient' END,
        CASE WHEN p.grouped THEN 'grouped' END), ''), 'none');
