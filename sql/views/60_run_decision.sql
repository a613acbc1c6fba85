-- The class of every shape of a run, exactly one, with the reason as a sentence. Thresholds come from the run's options.
-- A shape is kept when its kernel differs from the stock one, the rule of the run says so (interval: docs/verdicts.md; point: its
-- median ratio reaches up_thr), and its result is right. Where the reference library has no solution and tuning made a kernel
-- (is_new), there is no ratio: any kernel beats none, if the tuned library chooses it and its result is right.
CREATE OR REPLACE VIEW run_decision AS
WITH o AS (
    SELECT run_id, kind AS run_kind, simulated,
           coalesce(TRY_CAST(options ->> '$.keep_thr' AS DOUBLE), 0.0) AS keep_thr,
           coalesce(TRY_CAST(options ->> '$.up_thr' AS DOUBLE), 1.03) AS up_thr,
           coalesce(TRY_CAST(options ->> '$.err_thr' AS DOUBLE), 0.03) AS err_thr,
           coalesce(TRY_CAST(options ->> '$.verify' AS BOOLEAN), true) AS verify,
           coalesce(options ->> '$.rule', 'point') AS rule,
           TRY_CAST(options ->> '$.confirm_budget' AS DOUBLE) AS confirm_budget,
           TRY_CAST(options ->> '$.max_workspace' AS BIGINT) AS max_workspace
    FROM run
), f AS (
    -- Kind and outcome of the first stage that failed.
    SELECT run_id, problem_id, arg_min(kind, (stage, outcome)) AS kind, arg_min(outcome, (stage, outcome)) AS outcome,
           -- Of the library: where tuning finds no kernel, the library may well have one.
           bool_or(outcome IN ('no_solution', 'unsupported')) FILTER (WHERE kind <> 'tune') AS no_solution,
           -- As view run_no_stock has it.
           bool_or(kind = 'baseline' AND outcome IN ('no_solution', 'unsupported')) AS no_stock,
           -- A shape that failed under one of the libraries half way has pairs, but they prove nothing.
           min(outcome) FILTER (WHERE kind = 'compare') AS compare_failure,
           -- The reference library has one, or it would not have come so far.
           bool_or(kind = 'compare' AND outcome = 'no_solution') AS compared_none, bool_or(kind = 'confirm' AND outcome = 'no_solution') AS confirmed_none,
           min(outcome) FILTER (WHERE kind = 'verify' AND outcome <> 'verify_failed') AS verify_failure
    FROM (SELECT run_id, problem_id, kind, coalesce(outcome, state) AS outcome,
                 coalesce(list_position(['baseline', 'screen', 'confirm', 'compare', 'verify'], kind), 9) AS stage
          FROM run_failure WHERE problem_id IS NOT NULL)
    GROUP BY run_id, problem_id
), facts AS (
    SELECT
        o.run_id, o.run_kind, o.simulated, o.keep_thr, o.up_thr, o.err_thr, o.verify, o.rule, o.confirm_budget, o.max_workspace,
        o.run_kind = 'tune' AND c.us IS NULL AND coalesce(f.no_stock, false) AND x.solution_id IS NOT NULL AS is_new,
        c.problem_id, c.seq, c.call_count, c.us AS us_baseline, c.share_pct, c.kept,
        w.solution_id AS winner_id, w.is_stock_choice, x.solution_id AS choice_id,
        a.reference_id, a.tuned_id, coalesce(a.is_compared, false) AS is_compared,
        u.n_pairs, u.n_looks, u.n_candidates, u.us_reference, coalesce(u.us_tuned, if(c.us IS NULL AND f.no_stock, a.tuned_us, NULL)) AS us_tuned,
        u.ratio, u.ratio_low, u.ratio_high, u.log_ratio_se,
        u.confidence, cf.state, cf.n_needed, cf.spread,
        k.outcome AS check_outcome, k.norm_error, k.solution_id AS checked_id, g.us AS us_unlimited,
        coalesce(f.compare_failure, f.outcome) AS failure, if(f.compare_failure IS NULL, f.kind, 'compare') AS failed_kind,
        f.compare_failure, f.verify_failure, coalesce(f.no_solution, false) AS no_solution,
        coalesce(f.compared_none OR (f.confirmed_none AND o.run_kind <> 'search'), false) AS tuned_has_none
    FROM o
    JOIN run_contribution AS c ON c.run_id = o.run_id
    LEFT JOIN run_winner AS w ON w.run_id = c.run_id AND w.problem_id = c.problem_id
    LEFT JOIN run_choice AS x ON x.run_id = c.run_id AND x.problem_id = c.problem_id
    LEFT JOIN run_confirm AS cf ON cf.run_id = c.run_id AND cf.problem_id = c.problem_id
    LEFT JOIN run_uplift AS u ON u.run_id = c.run_id AND u.problem_id = c.problem_id
    LEFT JOIN run_arms AS a ON a.run_id = c.run_id AND a.problem_id = c.problem_id
    LEFT JOIN run_check AS k ON k.run_id = c.run_id AND k.problem_id = c.problem_id
    LEFT JOIN run_unlimited AS g ON g.run_id = c.run_id AND g.problem_id = c.problem_id
    LEFT JOIN f ON f.run_id = c.run_id AND f.problem_id = c.problem_id
), classed AS (
    SELECT *,
        CASE
            WHEN us_baseline IS NULL AND us_unlimited IS NOT NULL THEN 'needs_workspace'
            WHEN is_new AND tuned_has_none THEN 'not_applied'
            WHEN is_new AND compare_failure IS NOT NULL THEN 'device_fault'
            WHEN is_new AND tuned_id IS NULL THEN 'undecided'
            WHEN is_new AND verify AND (check_outcome = 'failed' OR norm_error >= err_thr) THEN 'wrong_result'
            WHEN is_new AND verify AND check_outcome IS DISTINCT FROM 'passed'
                 AND verify_failure IN ('crash', 'hang', 'memory_fault', 'timeout', 'lost') THEN 'device_fault'
            WHEN is_new AND verify AND check_outcome IS DISTINCT FROM 'passed' THEN 'not_verified'
            WHEN is_new THEN 'new_solution'
            WHEN us_baseline IS NULL AND no_solution THEN 'no_solution'
            WHEN us_baseline IS NULL THEN 'device_fault'
            WHEN kept IS NOT DISTINCT FROM false THEN 'not_important'
            WHEN winner_id IS NULL AND no_solution THEN 'no_solution'
            WHEN winner_id IS NULL AND failed_kind = 'tune' AND failure IN ('no_solution', 'unsupported', 'build_failed', 'verify_failed') THEN 'undecided'
            WHEN winner_id IS NULL AND failure IS NOT NULL THEN 'device_fault'
            WHEN tuned_has_none THEN 'not_applied'
            WHEN compare_failure IS NOT NULL OR (ratio IS NULL AND failure IS NOT NULL) THEN 'device_fault'
            WHEN ratio IS NULL AND is_stock_choice THEN 'same_kernel'
            WHEN ratio IS NULL THEN 'undecided'
            WHEN rule = 'interval' AND state = 'open' THEN 'undecided'
            WHEN rule = 'interval' AND state = 'rejected' AND ratio <= 1 THEN 'no_gain'
            WHEN rule = 'interval' AND state = 'rejected' THEN 'small_gain'
            WHEN rule = 'interval' AND NOT is_compared THEN 'undecided'
            WHEN verify AND (check_outcome = 'failed' OR norm_error >= err_thr) THEN 'wrong_result'
            WHEN rule = 'interval' AND run_kind = 'search' AND tuned_id IS DISTINCT FROM choice_id THEN 'not_applied'
            WHEN reference_id IS NOT NULL AND reference_id = tuned_id AND NOT coalesce(is_stock_choice, true) THEN 'not_applied'
            WHEN reference_id IS NOT NULL AND reference_id = tuned_id THEN 'same_kernel'
            WHEN rule = 'point' AND ratio <= 1 AND ratio < up_thr THEN 'no_gain'
            WHEN rule = 'point' AND ratio < up_thr THEN 'small_gain'
            WHEN verify AND check_outcome IS DISTINCT FROM 'passed'
                 AND verify_failure IN ('crash', 'hang', 'memory_fault', 'timeout', 'lost') THEN 'device_fault'
            WHEN verify AND check_outcome IS DISTINCT FROM 'passed' THEN 'not_verified'
            -- The evidence is about the kernel that ran.
            WHEN verify AND run_kind = 'search' AND checked_id IS NOT NULL AND checked_id IS DISTINCT FROM tuned_id THEN 'not_verified'
            ELSE 'kept'
        END AS class
    FROM facts
)
SELECT
    run_id, problem_id, seq, class,
    CASE class
        WHEN 'no_solution' THEN 'the library has no solution for this problem'
        WHEN 'needs_workspace' THEN printf('every solution needs more workspace than --max-workspace (%d bytes)', max_workspace)
        WHEN 'new_solution' THEN concat(printf('the reference library has no solution; the new kernel takes %.4g µs', us_tuned),
            if(verify, ', result correct', ', result NOT checked (--no-verify)'))
        WHEN 'device_fault' THEN CASE WHEN failed_kind = 'tune' AND winner_id IS NOT NULL
            THEN concat('new kernels were timed, but none is in a library: the tune job ended with ', failure)
            ELSE if(compare_failure IS NULL AND (is_new OR (us_baseline IS NOT NULL AND ratio IS NOT NULL)),
            concat(if(is_new, 'a new kernel', 'faster'), ', but nothing shows that its result is right: the verify job ended with ', verify_failure),
            concat('no usable time: the ', coalesce(failed_kind, 'baseline'), ' job ended with ', coalesce(failure, 'no result'))) END
        WHEN 'not_important' THEN printf('%.3g %% of the workload''s time, below keep-thr %.3g %%', share_pct, keep_thr)
        WHEN 'same_kernel' THEN 'the stock library already uses the fastest kernel that was found'
        WHEN 'undecided' THEN CASE
            WHEN winner_id IS NULL AND failed_kind = 'tune'
                THEN printf('tuning found no kernel (%s; failed_jobs.log says why): the stock kernel stays', failure)
            WHEN is_new THEN 'a new kernel where the reference library has none, but the tuned library was not timed yet'
            WHEN winner_id IS NULL AND run_kind = 'tune' THEN 'no kernel was made for it: no config of the run is for its size, or the run stopped before'
            WHEN ratio IS NULL AND rule = 'interval' THEN 'no candidate was confirmed (none was found, --confirm-budget was used up, or the run stopped before)'
            WHEN ratio IS NULL THEN 'reference and tuned library were not compared'
            WHEN state = 'kept' THEN 'a candidate is faster, but the tuned library was not compared yet'
            ELSE concat(printf('%.4f times the stock speed, but %d pairs leave it open (interval %.4f to %.4f)', ratio, n_pairs, ratio_low, ratio_high),
                        if(isfinite(n_needed), printf('; some %d pairs would decide it (--confirm-budget)', ceil(n_needed)::BIGINT), '')) END
        WHEN 'wrong_result' THEN printf('the tuned kernel''s result is wrong (norm error %.3g)', coalesce(norm_error, 'nan'::DOUBLE))
        WHEN 'not_applied' THEN if(tuned_has_none, 'the tuned library has no solution for this shape: its kernels don''t suit it',
            'the tuned library did not choose the winning kernel for this shape')
        WHEN 'no_gain' THEN concat(printf('%.4f times the stock speed: ', ratio), if(ratio_high < 1, 'slower', 'not faster'),
                                   if(rule = 'interval', printf(' (best of %d candidates, %d pairs)', n_candidates, n_pairs), ''))
        WHEN 'small_gain' THEN concat(printf('%.4f times the stock speed, below up-thr %.4g', ratio, up_thr),
                                      if(rule = 'interval', printf(' (best of %d candidates, %d pairs)', n_candidates, n_pairs), ''))
        WHEN 'not_verified' THEN if(check_outcome = 'passed', 'faster, but the check ran another kernel',
            concat(if(is_new, 'a new kernel', 'faster'), ', but its result was not checked', coalesce(': the verify job ended with ' || verify_failure, '')))
        ELSE concat(printf('%.4f times the stock speed over %d pairs (%d %% interval %.4f to %.4f)', ratio, n_pairs, round(100 * confidence)::INTEGER,
                           ratio_low, ratio_high),
                    if(verify, ', result correct', ', result NOT checked (--no-verify)'))
    END AS reason,
    simulated, rule, reference_id AS reference_solution_id, coalesce(tuned_id, choice_id, winner_id) AS tuned_solution_id,
    us_reference, us_tuned, ratio, ratio_low, ratio_high, n_pairs, share_pct, call_count, check_outcome, norm_error,
    log_ratio_se, confidence, n_looks, n_candidates
FROM classed;
