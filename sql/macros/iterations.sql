-- Iterations that fill a duration: ceil(seconds / time of one), at least one; the fallback where no time is known.
CREATE OR REPLACE MACRO iterations(duration_s, us, fallback) AS
    CASE WHEN us > 0 AND isfinite(us) AND duration_s > 0
         THEN greatest(ceil(duration_s * 1e6 / us), 1)::BIGINT ELSE fallback::BIGINT END;
