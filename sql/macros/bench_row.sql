-- A hipblaslt-bench YAML row of a problem, less iterations and protocol settings: only keys that the client knows and
-- whose value differs from "not said" (nulls are dropped). A class stands for its usual value: alpha other 2, beta other 1.
CREATE OR REPLACE MACRO bench_row(p) AS
    json_object(
        'function', 'matmul', 'M', p.m, 'N', p.n, 'K', p.k, 'batch_count', p.batch,
        'transA', p.trans_a, 'transB', p.trans_b,
        'lda', p.lda, 'ldb', p.ldb, 'ldc', p.ldc, 'ldd', p.ldd,
        'stride_a', p.stride_a, 'stride_b', p.stride_b, 'stride_c', p.stride_c, 'stride_d', p.stride_d,
        'alpha', if(p.alpha_class = 'one', 1.0, 2.0), 'beta', if(p.beta_class = 'zero', 0.0, 1.0),
        'a_type', p.a_type, 'b_type', p.b_type, 'c_type', p.c_type, 'd_type', p.d_type,
        'compute_type', concat('c_', p.compute_type), 'scale_type', p.scale_type,
        'scaleA', p.scale_a, 'scaleB', p.scale_b,
        'scaleC', if(p.scale_c > 0, p.scale_c, NULL), 'scaleD', if(p.scale_d > 0, p.scale_d, NULL),
        'swizzle_a', if(p.swizzle_a, true, NULL), 'swizzle_b', if(p.swizzle_b, true, NULL),
        'scaleAlpha_vector', if(p.scale_alpha_vector, true, NULL),
        'bias_vector', if(p.bias_type IS NOT NULL, true, NULL), 'bias_type', p.bias_type, 'bias_source', p.bias_source,
        'activation_type', p.activation,
        'use_e', if(p.aux_type IS NOT NULL, true, NULL), 'aux_type', p.aux_type,
        'gradient', if(p.gradient, true, NULL), 'grouped_gemm', if(p.grouped, true, NULL));
