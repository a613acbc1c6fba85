-- One line about the rows of `export/applied`: how many winners are in which state, and for what most common reason each.
WITH states AS (
    SELECT CASE WHEN state LIKE 'applied%' THEN 1 WHEN state IN ('other kernel', 'partly applied') THEN 2 WHEN state = 'not called' THEN 3 ELSE 4 END AS kind,
           count(*) AS n, count(*) FILTER (WHERE state = 'applied (by index)') AS n_by_index, count(*) FILTER (WHERE why IS NOT NULL) AS n_why,
           count(*) FILTER (WHERE state = 'partly applied') AS n_partly,
           -- Reasons of single shapes have their details behind the first words.
           mode(regexp_replace(why, ' as .* only$', ' in another way only') ORDER BY why) AS why
    FROM rows GROUP BY kind
), parts AS (
    SELECT kind, n, concat(n, [' called with the tuned kernel', ' with another kernel', ' not called', ' unknown'][kind],
        CASE kind WHEN 1 THEN CASE WHEN n_why > 0 THEN concat(' (', n_why, ': ', why, ')') WHEN n_by_index > 0 THEN concat(' (', n_by_index, ' shown by index alone)') ELSE '' END
                WHEN 2 THEN if(n_partly > 0, concat(' (', n_partly, ' in some of the calls)'), '')
                ELSE concat(' (', why, ')') END) AS part
    FROM states
)
SELECT concat((SELECT count(*) FROM rows), ' winner(s) of ', if((SELECT bool_or(simulated) FROM rows), 'a simulated', 'the'), ' run: ',
              string_agg(coalesce(p.part, concat('0', w.word)), ', ' ORDER BY w.kind)) AS summary,
       coalesce(max(p.n) FILTER (WHERE w.kind = 1), 0) > 0 AND coalesce(max(p.n) FILTER (WHERE w.kind = 2), 0) = 0 AS is_proven
FROM (VALUES (1, ' called with the tuned kernel'), (2, ' with another kernel'), (3, ' not called'), (4, ' unknown')) AS w(kind, word)
LEFT JOIN parts AS p ON p.kind = w.kind;
