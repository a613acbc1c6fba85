-- Upper quantile of the standard normal distribution for a tail 0 < p <= 0.5: Acklam's rational approximation (relative error
-- below 1.2e-9). The one-element list binds the intermediate value to a name.
CREATE OR REPLACE MACRO normal_quantile(p) AS
    CASE WHEN p < 0.02425 THEN
        -list_transform([sqrt(-2 * ln(p))], lambda r:
            (((((-7.784894002430293e-03 * r - 3.223964580411365e-01) * r - 2.400758277161838e+00) * r - 2.549732539343734e+00) * r
              + 4.374664141464968e+00) * r + 2.938163982698783e+00)
            / ((((7.784695709041462e-03 * r + 3.224671290700398e-01) * r + 2.445134137142996e+00) * r + 3.754408661907416e+00) * r + 1))[1]
    ELSE
        list_transform([struct_pack(q := 0.5 - p, r := (0.5 - p) * (0.5 - p))], lambda s:
            (((((-3.969683028665376e+01 * s.r + 2.209460984245205e+02) * s.r - 2.759285104469687e+02) * s.r + 1.383577518672690e+02) * s.r
              - 3.066479806614716e+01) * s.r + 2.506628277459239e+00) * s.q
            / (((((-5.447609879822406e+01 * s.r + 1.615858368580409e+02) * s.r - 1.556989798598866e+02) * s.r + 6.680131188771972e+01) * s.r
                - 1.328068155288572e+01) * s.r + 1))[1]
    END;
