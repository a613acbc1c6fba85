-- Leading dimension of B: the given one, or that of a packed column-major matrix.
CREATE OR REPLACE MACRO full_ldb(p) AS coalesce(p.ldb, if(p.trans_b = 'N', p.k, p.n));
