-- Leading dimension of A: the given one, or that of a packed column-major matrix.
CREATE OR REPLACE MACRO full_lda(p) AS coalesce(p.lda, if(p.trans_a = 'N', p.m, p.k));
