-- Transpose as a kernel sees it: conjugating a real matrix does nothing.
CREATE OR REPLACE MACRO real_trans(trans, token) AS
    CASE WHEN trans = 'C' AND token NOT LIKE '%\_c' ESCAPE '\' THEN 'T' ELSE trans END;
