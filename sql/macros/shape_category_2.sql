-- Second taxonomy of GEMM shapes, by what limits them; first match wins. The same as geko.domain.gemm.categorize_2.
CREATE OR REPLACE MACRO shape_category_2(m, n, k, batch) AS
    CASE
        WHEN m * n <= 2048 * 2048 AND k >= 4096 THEN '2'
        WHEN batch > 1 THEN '3.1'
        WHEN ((m < 3073 AND n > 32767) OR (n < 3073 AND m > 32767)) AND k < 3073 AND k % 64 <> 0 THEN '1.2'
        WHEN ((m < 3073 AND n > 32767) OR (n < 3073 AND m > 32767)) AND k < 3073 THEN '1.1'
        WHEN m * n > 256 * 256 AND m * n < 3072 * 2048 AND k > 512 THEN '4'
        WHEN k <= 512 OR (m < 33 AND n < 33) THEN '3.2'
        WHEN (m > 127 AND n > 127 AND m * n >= 256 * 256 * 256)
          OR (m > 255 AND n > 255 AND m * n * batch >= 256 * 256 * 256) THEN '6'
        ELSE '5' END;
