-- How many of the newest attempts of a run failed without a success among them; a run stops when there are too many.
WITH attempt AS (
    SELECT a.outcome, row_number() OVER (ORDER BY a.ended_at DESC, a.rowid DESC) AS nr
    FROM job_attempt AS a
    WHERE a.job_id IN (SELECT k.job_id FROM run_job AS k WHERE k.run_id = $run_id::UUID)
      AND a.outcome NOT IN ('released', 'lost') AND NOT a.late AND a.ended_at >= $since
)
SELECT count(*) AS n_failures,
       any_value(outcome) AS outcome
FROM attempt
WHERE nr < coalesce((SELECT min(nr) FROM attempt
                     WHERE outcome IN ('ok', 'verify_failed', 'unsupported', 'no_solution', 'build_failed')), 9e18);
