-- Upper quantile of Student's t for a tail 0 < p <= 0.5 and dof >= 3 degrees of freedom: the asymptotic expansion of G. W. Hill,
-- "Algorithm 396: Student's t-quantiles", Comm. ACM 13 (1970) 619-620. Relative error below 1e-3 down to a tail of 1e-5.
CREATE OR REPLACE MACRO t_quantile(p, dof) AS
    list_transform([struct_pack(n := dof::DOUBLE, p2 := 2.0 * p, a := 1.0 / (dof - 0.5), x := -normal_quantile(p))], lambda s:
    list_transform([struct_pack(n := s.n, a := s.a, x := s.x, p2 := s.p2, b := 48.0 / (s.a * s.a))], lambda s:
    list_transform([struct_pack(n := s.n, a := s.a, x := s.x, p2 := s.p2, b := s.b,
                                c := ((20700.0 * s.a / s.b - 98.0) * s.a - 16.0) * s.a + 96.36)], lambda s:
    list_transform([struct_pack(n := s.n, a := s.a, x := s.x, p2 := s.p2, b := s.b, c := s.c,
                                d := ((94.5 / (s.b + s.c) - 3.0) / s.b + 1.0) * sqrt(s.a * pi() / 2.0) * s.n)], lambda s:
    list_transform([struct_pack(n := s.n, a := s.a, x := s.x, b := s.b, d := s.d,
                                c := if(s.n < 5, s.c + 0.3 * (s.n - 4.5) * (s.x + 0.6), s.c),
                                y := pow(s.d * s.p2, 2.0 / s.n))], lambda s:
    sqrt(s.n * CASE WHEN s.y > 0.05 + s.a THEN
        list_transform([struct_pack(a := s.a, x := s.x, b := s.b, y := s.x * s.x,
                                    c := (((0.05 * s.d * s.x - 5.0) * s.x - 7.0) * s.x - 2.0) * s.x + s.b + s.c)], lambda u:
            exp(u.a * pow((((((0.4 * u.y + 6.3) * u.y + 36.0) * u.y + 94.5) / u.c - u.y - 3.0) / u.b + 1.0) * u.x, 2)) - 1.0)[1]
    ELSE
        ((1.0 / (((s.n + 6.0) / (s.n * s.y) - 0.089 * s.d - 0.822) * (s.n + 2.0) * 3.0) + 0.5 / (s.n + 4.0)) * s.y - 1.0)
            * (s.n + 1.0) / (s.n + 2.0) + 1.0 / s.y
    END))[1])[1])[1])[1])[1];
