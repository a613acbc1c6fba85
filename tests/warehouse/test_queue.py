"""The queue: order, leases, failures, evidence."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest
from warehouse_support import (
    DEVICES,
    ENVIRONMENT,
    RUN,
    Bench,
    FakeClock,
    device_rows,
    job_id,
    job_table,
    measurement_rows,
)

from geko.errors import UsageError, WarehouseError
from geko.warehouse import Append, Scratch, Statement
from geko.warehouse import queue as jobs
from geko.warehouse.deal import WINDOW
from geko.warehouse.queue_owner import QueueOwner


def numbers(claims: list[jobs.Claim]) -> list[int]:
    return [int(claim.spec.strip('{}"nr:')) for claim in claims]


def test_the_same_work_is_the_same_job(bench: Bench) -> None:
    assert bench.enqueue(3) == jobs.EnqueueResult(3, 0, 0)
    bench.finish(bench.claim()[0])
    again = job_table(4, cost_s=7.0, spec='{"nr":99}')
    assert jobs.enqueue(bench.wh, RUN, pa.concat_tables([again, again])) == jobs.EnqueueResult(1, 2, 1)
    assert bench.value("SELECT count(*) FROM job") == 4
    assert bench.value("SELECT count(*) FROM run_job") == 4
    # What waits takes the new spec and cost; what is done stays as it was measured.
    assert {row["spec"] for row in bench.rows("SELECT spec FROM job_spec")} == {'{"nr":99}', '{"nr":2}'}
    assert bench.value("SELECT count(*) FROM job WHERE cost_s = 7.0") == 3
    assert jobs.enqueue(bench.wh, RUN, job_table(0)) == jobs.EnqueueResult(0, 0, 0)
    with pytest.raises(UsageError, match="batch_key"):
        jobs.enqueue(bench.wh, RUN, job_table(1).drop_columns("batch_key"))


def test_priority_then_longest_then_first(bench: Bench) -> None:
    bench.enqueue(5, cost_s=[1.0, 3.0, 2.0, 3.0, 1.0], priority=[0.0, 0.0, 0.0, 0.0, 5.0])
    assert [numbers(bench.claim())[0] for _ in range(5)] == [4, 1, 3, 2, 0]
    assert bench.claim() == []


def test_a_claim_of_several_has_one_batch_key(bench: Bench) -> None:
    bench.enqueue(6, batch_key=["a", "b", "a", "b", "a", "b"])
    assert numbers(bench.claim(limit=2)) == [5, 3]
    assert numbers(bench.claim(limit=5)) == [4, 2, 0]
    assert numbers(bench.claim(limit=5)) == [1]


def test_a_claim_of_several_keeps_within_its_seconds(bench: Bench) -> None:
    bench.enqueue(5)
    assert numbers(bench.claim(limit=5, max_cost_s=6.0)) == [4, 2, 0]
    assert numbers(bench.claim(limit=5, max_cost_s=1.0)) == [3]


def test_batch_mates_are_found_behind_the_window(bench: Bench) -> None:
    n = WINDOW + 20
    keys = ["a"] + ["b"] * (n - 2) + ["a"]
    bench.enqueue(n, batch_key=keys, cost_s=[float(n - nr) for nr in range(n)])
    assert numbers(bench.claim(limit=3)) == [0, n - 1]


def test_the_whole_queue_is_dealt_once(bench: Bench) -> None:
    n = 2 * WINDOW + 7
    bench.enqueue(n)
    seen: list[int] = []
    while claims := bench.claim(limit=100):
        seen += numbers(claims)
    assert seen == list(range(n - 1, -1, -1))


def test_kinds_environment_and_unknown_devices(bench: Bench) -> None:
    bench.enqueue(3, kind=["baseline", "screen", "verify"])
    assert numbers(bench.claim(kinds=["screen", "baseline"])) == [1]
    assert numbers(bench.claim(kinds=["screen"])) == []
    elsewhere = pa.table(
        {
            "device_id": [RUN],
            "environment_id": [RUN],
            "host": ["h"],
            "ordinal": pa.array([9], pa.int32()),
            "last_seen": [bench.clock.time],
        }
    )
    bench.wh.apply(Append("device", elsewhere))
    assert jobs.claim(bench.wh, "r", RUN) == []
    with pytest.raises(UsageError, match="table device"):
        jobs.claim(bench.wh, "r", ENVIRONMENT.environment_id)


def test_sql_on_the_table_changes_what_runs_next(bench: Bench) -> None:
    bench.enqueue(4)
    assert numbers(bench.claim()) == [3]
    assert jobs.cancel(bench.wh, job_ids=[job_id(2)]) == 1
    bench.wh.apply(
        Append("solution_alias", pa.table({"alias_id": [RUN], "solution_id": [RUN], "evidence": ["e"]}))
    )
    assert numbers(bench.claim()) == [1]
    jobs.enqueue(bench.wh, RUN, job_table(1, first=7, cost_s=50.0))
    assert numbers(bench.claim()) == [7]


def test_results_are_stored_with_what_follows_from_the_job(bench: Bench) -> None:
    bench.enqueue(1)
    (claim,) = bench.claim()
    checks = pa.table({"outcome": ["passed"], "norm_error": [1e-6]})
    assert (
        bench.finish(claim, n_rows=20, output="text", validations=checks, command="cmd", exit_code=0)
        == "accepted"
    )
    (row,) = bench.rows(
        "SELECT count(*) AS n, count(DISTINCT measurement_id) AS ids, any_value(job_id) AS job_id,"
        " any_value(environment_id) AS environment_id, any_value(device_id) AS device_id, sum(us) AS us,"
        " any_value(problem_id) = any_value((SELECT problem_id FROM problem)) AS same, min(measured_at) AS at"
        " FROM measurement"
    )
    assert row == {
        "n": 20,
        "ids": 20,
        "job_id": claim.job_id,
        "environment_id": ENVIRONMENT.environment_id,
        "device_id": DEVICES[0],
        "us": sum(10.0 + nr for nr in range(20)),
        "same": True,
        "at": bench.clock.time,
    }
    assert bench.rows("SELECT outcome, norm_error FROM validation") == [
        {"outcome": "passed", "norm_error": 1e-6}
    ]
    (attempt,) = bench.rows(
        "SELECT a.outcome, late, command, o.text FROM job_attempt AS a JOIN output AS o USING (output_id)"
    )
    assert attempt == {"outcome": "ok", "late": False, "command": "cmd", "text": "text"}
    assert bench.state(0) == "done"


def test_the_same_result_again_changes_nothing(bench: Bench) -> None:
    bench.enqueue(1)
    (claim,) = bench.claim()
    result = jobs.JobResult(
        claim.job_id, claim.attempt, claim.token, "r", DEVICES[0], "ok", measurements=measurement_rows(3)
    )
    assert jobs.complete(bench.wh, [result, result]) == ["accepted", "accepted"]
    assert jobs.complete(bench.wh, [result]) == ["accepted"]
    assert bench.value("SELECT count(*) FROM measurement") == 3
    assert bench.value("SELECT count(*) FROM job_attempt") == 1


def test_a_late_result_is_evidence_that_never_wins(bench: Bench) -> None:
    bench.enqueue(1)
    (first,) = bench.claim()
    bench.clock.move(61)
    (second,) = bench.claim(device=1)
    assert (second.job_id, second.attempt) == (first.job_id, 2)
    checks = pa.table({"outcome": ["passed"]})
    assert bench.finish(first, n_rows=2, validations=checks) == "late"
    assert bench.finish(first, n_rows=2, validations=checks) == "late"
    assert bench.state(0) == "leased"
    assert bench.rows("SELECT DISTINCT outcome FROM measurement") == [{"outcome": "late"}]
    (check,) = bench.rows("SELECT outcome, extra->>'outcome' AS was FROM validation")
    assert check == {"outcome": "not_checked", "was": "passed"}
    assert bench.finish(second, device=1, n_rows=2) == "accepted"
    attempts = bench.rows("SELECT attempt, outcome, late FROM job_attempt ORDER BY ALL")
    assert attempts == [
        {"attempt": 1, "outcome": "lost", "late": False},
        {"attempt": 1, "outcome": "ok", "late": True},
        {"attempt": 2, "outcome": "ok", "late": False},
    ]
    assert bench.value("SELECT count(*) FROM measurement") == 4


def test_a_result_for_an_unknown_job_is_late(bench: Bench) -> None:
    result = jobs.JobResult(RUN, 1, RUN, "r", DEVICES[0], "ok", measurements=measurement_rows(1))
    assert jobs.complete(bench.wh, [result]) == ["late"]
    assert bench.value("SELECT count(*) FROM measurement") == 0
    assert jobs.complete(bench.wh, []) == []


@pytest.mark.parametrize("outcome", ["unsupported", "no_solution", "build_failed", "verify_failed"])
def test_negatives_are_final(bench: Bench, outcome: str) -> None:
    bench.enqueue(1)
    bench.finish(bench.claim()[0], outcome)
    (row,) = bench.rows("SELECT state, outcome FROM job")
    assert row == {"state": "done", "outcome": outcome}
    assert bench.enqueue(1) == jobs.EnqueueResult(0, 0, 1)
    assert jobs.retry(bench.wh, run_id=RUN) == 0
    assert jobs.retry(bench.wh, run_id=RUN, outcomes=[outcome]) == 1
    assert bench.claim()[0].attempt == 2


def test_retries_back_off_and_end(bench: Bench) -> None:
    bench.enqueue(1)
    for attempt, pause in ((1, 1.0), (2, 2.0)):
        (claim,) = bench.claim()
        assert claim.attempt == attempt
        bench.finish(claim, "parse_error")
        bench.clock.move(pause - 0.1)
        assert bench.claim() == []
        bench.clock.move(0.2)
    bench.finish(bench.claim()[0], "parse_error")
    assert bench.state(0) == "failed"
    bench.clock.move(1000)
    assert bench.claim() == []
    assert jobs.retry(bench.wh, job_ids=[job_id(0)]) == 1
    assert bench.claim()[0].attempt == 4


def test_a_job_that_kills_two_devices_is_dead(bench: Bench) -> None:
    bench.enqueue(1, max_attempts=9)
    bench.finish(bench.claim()[0], "crash")
    assert bench.state(0) == "pending"
    assert bench.value("SELECT alone FROM job") is True
    bench.clock.move(5)
    bench.finish(bench.claim()[0], "hang")
    assert bench.state(0) == "pending"
    bench.clock.move(5)
    bench.finish(bench.claim(device=1)[0], "memory_fault", device=1)
    assert bench.state(0) == "dead"


def test_a_suspected_job_comes_alone(bench: Bench) -> None:
    bench.enqueue(4)
    bench.finish(bench.claim()[0], "timeout")
    bench.clock.move(5)
    assert numbers(bench.claim(limit=4)) == [3]
    assert numbers(bench.claim(limit=4)) == [2, 1, 0]


def test_released_jobs_have_lost_no_attempt(bench: Bench) -> None:
    bench.enqueue(2)
    first, second = bench.claim(limit=2)
    jobs.release(bench.wh, "runner-0", [first.token])
    assert bench.finish(second, "released") == "accepted"
    assert bench.rows("SELECT state, attempts FROM job") == [{"state": "pending", "attempts": 0}] * 2
    assert bench.rows("SELECT DISTINCT outcome FROM job_attempt") == [{"outcome": "released"}]
    again = bench.claim(limit=2)
    assert [claim.attempt for claim in again] == [1, 1]
    assert {claim.token for claim in again}.isdisjoint({first.token, second.token})
    assert bench.finish(first) == "late"


def test_leases_end_by_the_owners_clock(bench: Bench) -> None:
    bench.enqueue(2, max_attempts=2)
    for _ in range(2):
        claims = bench.claim(limit=2)
        bench.clock.move(50)
        assert jobs.heartbeat(bench.wh, "runner-0", [claims[0].token]) == [claims[0].token]
        bench.clock.move(50)
        assert numbers(bench.claim(device=1)) == ([0] if claims[0].attempt == 1 else [])
        if claims[0].attempt == 1:
            jobs.release(
                bench.wh,
                "runner-1",
                [row["token"] for row in bench.rows("SELECT token FROM job WHERE runner = 'runner-1'")],
            )  # type: ignore[misc]
        tokens = [claim.token for claim in claims]
        assert jobs.heartbeat(bench.wh, "runner-0", tokens) == tokens[:1]
        bench.clock.move(61)
    assert bench.claim() == []
    assert bench.rows("SELECT state, outcome FROM job") == [{"state": "failed", "outcome": "lost"}] * 2
    assert bench.value("SELECT count(*) FROM job_attempt WHERE outcome = 'lost'") == 4


def test_a_failing_device_is_quarantined(bench: Bench) -> None:
    bench.enqueue(8, max_attempts=1)
    kept = bench.claim()[0]
    for _ in range(5):
        bench.finish(bench.claim()[0], "hang")
    assert bench.claim() == []
    assert bench.finish(kept) == "late"
    (row,) = bench.rows("SELECT quarantine_reason FROM device WHERE quarantined_at IS NOT NULL")
    assert row["quarantine_reason"] == "5 failures in a row, the last: hang"
    claims = [bench.claim(device=1)[0] for _ in range(3)]
    assert sorted(numbers(claims)) == [0, 1, 7]
    jobs.lift_quarantine(bench.wh, [DEVICES[0]])
    jobs.release(bench.wh, "runner-1", [claims[0].token])
    assert len(bench.claim()) == 1


def test_a_suspect_runs_on_another_device_next(bench: Bench) -> None:
    bench.enqueue(2)
    assert bench.claim(device=1)
    bench.finish(bench.claim()[0], "crash")
    bench.clock.move(2)
    assert bench.claim() == [], "there is a live runner on another device"
    assert numbers(bench.claim(device=1)) == [0]


def test_a_suspect_does_not_wait_for_ever(bench: Bench) -> None:
    bench.enqueue(2)
    assert bench.claim(device=1)
    bench.finish(bench.claim()[0], "crash")
    bench.clock.move(25)
    jobs.end_runner(bench.wh, "runner-1")
    (again,) = bench.claim()
    assert numbers([again]) == [0], "nobody else is there"


def test_a_suspect_that_no_other_device_takes(bench: Bench) -> None:
    bench.enqueue(2)
    (busy,) = bench.claim(device=1)
    bench.finish(bench.claim()[0], "crash")
    bench.clock.move(20)
    assert bench.claim() == []
    jobs.heartbeat(bench.wh, "runner-1", [busy.token])
    bench.clock.move(12)
    assert numbers(bench.claim()) == [0]


def test_jobs_get_over_a_device_that_fails_them_all(bench: Bench) -> None:
    bench.enqueue(7, max_attempts=1)
    (waiting,) = bench.claim(device=1)
    assert numbers([waiting]) == [6]
    for _ in range(5):
        bench.finish(bench.claim()[0], "crash")
    assert bench.value("SELECT count(*) FROM device WHERE quarantined_at IS NOT NULL") == 1
    assert [bench.state(nr) for nr in range(6)] == ["pending"] * 6
    bench.clock.move(2)
    claims = [bench.claim(device=1)[0] for _ in range(6)]
    assert sorted(numbers(claims)) == [0, 1, 2, 3, 4, 5]
    bench.finish(claims[0], "crash", device=1)
    assert bench.value("SELECT count(*) FROM job WHERE state = 'dead'") == 1, "it failed on two devices"


def test_failures_stay_when_no_other_device_works(bench: Bench) -> None:
    bench.enqueue(7, max_attempts=1)
    for _ in range(5):
        bench.finish(bench.claim()[0], "crash")
    assert bench.value("SELECT count(*) FROM job WHERE state = 'failed'") == 5
    assert jobs.usable_devices(bench.wh, [DEVICES[0]]) == jobs.Usable(
        0, ("device 0 was taken out: 5 failures in a row, the last: crash",)
    )
    assert jobs.usable_devices(bench.wh, DEVICES[:2]).n_usable == 1
    assert bench.claim(device=1)
    assert jobs.usable_devices(bench.wh, [DEVICES[0]]).n_usable == 1, "a runner from another shell helps"
    assert jobs.retry(bench.wh, run_id=RUN) == 5
    assert jobs.usable_devices(bench.wh, [DEVICES[0]]).taken_out == ()


def test_a_success_between_failures_keeps_the_device(bench: Bench) -> None:
    bench.enqueue(9, max_attempts=1)
    for outcome in ("hang", "hang", "hang", "hang", "ok", "hang", "crash"):
        bench.finish(bench.claim()[0], outcome)
        bench.clock.move(1)
    assert len(bench.claim()) == 1


def test_progress_and_failures_in_a_row(bench: Bench) -> None:
    bench.enqueue(5, max_attempts=1)
    for outcome in ("ok", "no_solution", "parse_error", "crash"):
        bench.finish(bench.claim()[0], outcome)
        bench.clock.move(1)
    rows = jobs.progress(bench.wh, RUN).to_pylist()
    assert {(row["state"], row["outcome"]): row["n_jobs"] for row in rows} == {
        ("done", "ok"): 1,
        ("done", "no_solution"): 1,
        ("failed", "parse_error"): 1,
        ("failed", "crash"): 1,
        ("pending", None): 1,
    }
    assert jobs.failures_in_a_row(bench.wh, RUN)[0] == 2
    assert jobs.failures_in_a_row(bench.wh, RUN, bench.clock.time) == (0, None)
    listed = jobs.list_jobs(bench.wh, RUN).to_pylist()
    assert [row["state"] for row in listed[:3]] == ["failed", "failed", "pending"]
    bench.finish(bench.claim()[0])
    assert jobs.failures_in_a_row(bench.wh, RUN)[0] == 0


def test_cancelled_jobs_do_not_run(bench: Bench) -> None:
    bench.enqueue(3)
    (claim,) = bench.claim()
    assert jobs.cancel(bench.wh, run_id=RUN) == 3
    assert bench.claim() == []
    assert jobs.heartbeat(bench.wh, "runner-0", [claim.token]) == []
    assert bench.finish(claim, n_rows=1) == "late"
    assert jobs.retry(bench.wh, run_id=RUN) == 3
    assert len(bench.claim(limit=3)) == 3
    with pytest.raises(UsageError):
        jobs.cancel(bench.wh)


def test_runners_are_known(bench: Bench) -> None:
    bench.enqueue(1)
    bench.claim(ordinal=4)
    bench.clock.move(10)
    jobs.heartbeat(bench.wh, "runner-0", [])
    (row,) = bench.rows(
        "SELECT runner, ordinal, device_id, last_seen - started_at AS alive, ended_at FROM runner"
    )
    assert (row["runner"], row["ordinal"], row["device_id"], row["ended_at"]) == (
        "runner-0",
        4,
        DEVICES[0],
        None,
    )
    jobs.end_runner(bench.wh, "runner-0")
    assert bench.value("SELECT ended_at FROM runner") == bench.clock.time


def test_a_claim_asked_again_gives_the_same_leases(bench: Bench) -> None:
    bench.enqueue(4)
    payload = {"runner": "r", "device_id": DEVICES[0], "limit": 2, "token": RUN}
    first = bench.wh.queue_operation("claim", dict(payload))
    again = bench.wh.queue_operation("claim", {**payload, "again": True})
    assert sorted(again, key=str) == sorted(first, key=str)
    assert bench.value("SELECT count(*) FROM job WHERE state = 'leased'") == 2


def test_one_bad_request_does_not_spoil_the_others(bench: Bench) -> None:
    bench.enqueue(9)
    claims = bench.claim(limit=9)
    bad = pa.table({"outcome": ["ok"], "no_such_column": [1]})
    answers: dict[int, str] = {}

    def send(at: int) -> None:
        try:
            rows = measurement_rows(2) if at else bad
            claim = claims[at]
            result = jobs.JobResult(claim.job_id, 1, claim.token, "r", DEVICES[0], "ok", measurements=rows)
            (answers[at],) = jobs.complete(bench.wh, [result])
        except WarehouseError as exc:
            answers[at] = type(exc).__name__

    threads = [threading.Thread(target=send, args=(at,)) for at in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {0: "WarehouseError"} | dict.fromkeys(range(1, 9), "accepted")
    assert bench.value("SELECT count(*) FROM measurement") == 16


def test_a_result_and_the_next_claim_in_one_call(bench: Bench) -> None:
    bench.enqueue(3)
    answers, claims = jobs.complete_and_claim(bench.wh, [], "r", DEVICES[0], limit=2)
    assert (answers, numbers(claims)) == ([], [2, 1])
    results = [jobs.JobResult(c.job_id, c.attempt, c.token, "r", DEVICES[0], "ok") for c in claims]
    answers, claims = jobs.complete_and_claim(bench.wh, results, "r", DEVICES[0], limit=2)
    assert (answers, numbers(claims)) == (["accepted", "accepted"], [0])
    answers, claims = jobs.complete_and_claim(bench.wh, results, "r", DEVICES[0])
    assert (answers, claims) == (["accepted", "accepted"], [])
    assert bench.value("SELECT count(*) FROM job_attempt") == 2


@pytest.mark.parametrize("limit", [1, 3])
def test_one_transaction_deals_past_the_window(limit: int) -> None:
    """Jobs that were dealt out are still pending in the table until the transaction leases them."""
    clock = FakeClock()
    n = WINDOW + 100
    with Scratch() as scratch:
        wanted = jobs.normalised(job_table(n))
        scratch.apply(
            Append("device", device_rows(clock.time)),
            Statement("queue/add_specs", inputs={"wanted": wanted}),
            Statement("queue/add_jobs", {"run_id": RUN, "now": clock.time}, {"wanted": wanted}),
        )
        payloads = [
            {"runner": "r", "device_id": DEVICES[0], "token": f"{nr:032x}", "limit": limit, "kinds": kinds}
            for nr, kinds in enumerate([None, ["baseline"]] * n)
        ]
        queue = QueueOwner(scratch.con, clock)
        claims = [item for items in queue.claim(payloads) for item in items]
        queue.settle()
    assert [item["spec"] for item in claims] == [f'{{"nr":{nr}}}' for nr in range(n - 1, -1, -1)]


def test_many_threads_never_get_the_same_job(bench: Bench) -> None:
    bench.enqueue(120)
    got: list[str] = []

    def work(nr: int) -> None:
        wh = bench.wh if nr % 2 else bench.other
        while claims := jobs.claim(wh, f"r{nr}", DEVICES[nr % 3], limit=3):
            got.extend(claim.job_id for claim in claims)
            jobs.complete(
                wh,
                [
                    jobs.JobResult(c.job_id, c.attempt, c.token, f"r{nr}", DEVICES[nr % 3], "ok")
                    for c in claims
                ],
            )

    threads = [threading.Thread(target=work, args=(nr,)) for nr in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len(set(got)) == 120
    assert bench.value("SELECT count(*) FROM job WHERE state = 'done'") == 120


def test_statements_take_no_foreign_tokens(bench: Bench) -> None:
    bench.enqueue(1)
    (claim,) = bench.claim()
    stolen = jobs.JobResult(claim.job_id, claim.attempt, RUN, "thief", DEVICES[1], "ok")
    assert jobs.complete(bench.wh, [stolen]) == ["late"]
    assert bench.state(0) == "leased"
    bench.wh.apply(Statement("queue/heartbeat", {"tokens": [RUN], "lease_until": bench.clock.time}))
    assert bench.finish(claim) == "accepted"
