-- A bench row with its protocol settings (JSON object) and iterations; integer inputs only take the rand_int pattern.
CREATE OR REPLACE MACRO timed_row(p, settings, iters, cold_iters) AS
    json_merge_patch('{}', bench_row(p), settings,
        json_object('initialization', if(p.a_type = 'i8_r', 'rand_int', settings ->> '$.initialization'),
                    'iters', iters, 'cold_iters', cold_iters));
