-- UseScaleAB of Tensile for hipblaslt scaling codes: none, one number, a vector; block scales (3 and more) are part of the type.
CREATE OR REPLACE MACRO scale_mode(scale_a, scale_b) AS
    CASE WHEN 2 IN (scale_a, scale_b) THEN 'Vector' WHEN 1 IN (scale_a, scale_b) THEN 'Scalar' ELSE '' END;
