-- Leading dimensions and strides of a problem where they are not packed, in words; 'packed' where all are.
CREATE OR REPLACE MACRO leading_text(p) AS
    coalesce(nullif(concat_ws(', ', 'lda ' || p.lda, 'ldb ' || p.ldb, 'ldc ' || p.ldc, 'ldd ' || p.ldd,
        'stride a ' || p.stride_a, 'stride b ' || p.stride_b, 'stride c ' || p.stride_c, 'stride d ' || p.stride_d), ''),
        'packed');
