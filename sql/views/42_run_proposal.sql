-- What the dense search of a run proposes: solutions that were faster there than the stock library's own choice. One time each says
-- little where hundreds were timed, so the fastest may be timed again beside the stock choice (role qualify, `run/plan_qualify`):
-- log_ratio is the mean over the search and these rounds. place is the order in which they are confirmed; where some qualified, the
-- others have none. The samples that choose here never decide a verdict.
CREATE OR REPLACE VIEW run_proposal AS
WITH found AS (
    SELECT c.run_id, c.problem_id, c.solution_id, c.solution_index, c.us, ln(coalesce(s.us, b.us) / c.us) AS log_ratio,
           row_number() OVER (PARTITION BY c.run_id, c.problem_id ORDER BY c.us, c.solution_index, c.solution_id) AS search_place
    FROM run_candidate AS c
    JOIN run_baseline AS b ON b.run_id = c.run_id AND b.problem_id = c.problem_id
    LEFT JOIN run_candidate AS s ON s.run_id = c.run_id AND s.problem_id = c.problem_id AND s.solution_id = b.solution_id
    WHERE c.solution_index IS NOT NULL AND c.solution_id IS DISTINCT FROM b.solution_id AND (s.us IS NULL OR c.us < s.us)
), timed AS (
    SELECT run_id, problem_id, block_id, round, arm, solution_id, median(us) AS us FROM run_timing
    WHERE job_kind = 'screen' AND role = 'qualify' AND solution_id IS NOT NULL GROUP BY ALL
), again AS (
    SELECT c.run_id, c.problem_id, c.solution_id, count(*) AS n_rounds, sum(ln(r.us / c.us) ORDER BY r.us, c.us) AS log_ratio
    FROM timed AS c
    JOIN timed AS r ON r.run_id = c.run_id AND r.problem_id = c.problem_id AND r.block_id = c.block_id AND r.round = c.round AND r.arm = 'reference'
    WHERE c.arm = 'candidate'
    GROUP BY ALL
), pooled AS (
    SELECT f.* EXCLUDE (log_ratio), coalesce(a.n_rounds, 0) AS n_rounds, (f.log_ratio + coalesce(a.log_ratio, 0)) / (1 + coalesce(a.n_rounds, 0)) AS log_ratio,
           bool_or(a.n_rounds IS NOT NULL) OVER (PARTITION BY f.run_id, f.problem_id) AS qualified
    FROM found AS f
    LEFT JOIN again AS a ON a.run_id = f.run_id AND a.problem_id = f.problem_id AND a.solution_id = f.solution_id
)
SELECT run_id, problem_id, solution_id, solution_index, us, log_ratio, n_rounds, search_place,
       if(qualified AND n_rounds = 0, NULL, row_number() OVER (
           PARTITION BY run_id, problem_id ORDER BY n_rounds > 0 DESC, log_ratio DESC, solution_index, solution_id)) AS place
FROM pooled;
