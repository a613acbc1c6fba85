-- Taxonomy of GEMM shapes by size, first match wins ("large" means above 8192). The same as geko.domain.gemm.categorize.
CREATE OR REPLACE MACRO shape_category(m, n, k, batch) AS
    CASE
        WHEN batch > 8192 THEN 'Very large batch'
        WHEN batch > 1024 THEN 'Large batch'
        WHEN batch > 128 THEN 'Medium batch'
        WHEN batch >= 2 THEN 'Small batch'
        WHEN m = 1 THEN 'M=1'
        WHEN n = 1 THEN 'N=1'
        WHEN k = 1 THEN 'K=1'
        WHEN m > 8192 AND n > 8192 AND k > 8192 THEN 'Very Large GEMMs'
        WHEN n > 8192 AND k > 8192 THEN 'Large N and K'
        WHEN m > 8192 AND k > 8192 THEN 'Large M and K'
        WHEN m > 8192 AND n > 8192 THEN 'Large M and N'
        WHEN m > 8192 AND n <= 128 AND k <= 128 THEN 'Large M, very small N and K'
        WHEN m > 8192 THEN 'Large M, smaller N and K'
        WHEN n > 8192 AND m <= 128 AND k <= 128 THEN 'Large N, very small M and K'
        WHEN n > 8192 THEN 'Large N, smaller M and K'
        WHEN k > 8192 AND m <= 128 AND n <= 128 THEN 'Large K, very small M and N'
        WHEN k > 8192 THEN 'Large K, smaller M and N'
        WHEN m <= 1024 AND n <= 1024 AND k <= 1024 THEN 'Small GEMMs'
        WHEN m >= 4096 AND n >= 4096 AND k >= 4096 THEN 'Large GEMMs'
        ELSE 'Medium GEMMs' END;
