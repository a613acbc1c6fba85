-- Elements of an MX block by hipBLASLt's scaling-format code: 16 or 32, or 1 without block scaling.
CREATE OR REPLACE MACRO mx_block(scale) AS
    CASE WHEN scale IN (4, 6, 8) THEN 16 WHEN scale >= 3 THEN 32 ELSE 1 END;
