"""How often verdicts are right: simulated pairs through the rule as it stands in ``sql``, the point rule beside it.

    python benchmarks/bench_verdicts.py [--shapes 2000] [--seed 1] [--only NAME]

Every scenario is a run of many shapes in a scratch database. Its samples are drawn with a seeded hash, look after look,
for what ``run/plan_qualify`` and ``run/plan_confirm`` ask for within the default budget; ``run/judge_confirmation`` decides.
Nothing of the rule is repeated here.

Noise is log-normal and independent from sample to sample. ``drift`` adds, within each job, a clock that sinks by 3 %
while the GPU warms up and swings by 2 % (one swing takes as long as 60 samples). ``outliers``: every fiftieth sample
takes 30 % longer.

The point rule decides as the original tool does: the fastest candidate of the screen, timed once more beside the stock
kernel, is kept from a ratio of up-thr on.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from geko.domain.identity import content_id
from geko.runs import protocols
from geko.runs.confirm import MAX_LOOKS, N_QUALIFY, QUALIFY_ROUNDS
from geko.runs.options import RunOptions, SimulateOptions
from geko.warehouse import Append, Statement
from geko.warehouse.scratch import Scratch

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPTIONS = RunOptions(simulate=SimulateOptions())
US = 100.0
#: Tables that a scenario fills.
TABLES = (
    "environment", "run", "problem", "run_problem", "job", "job_spec", "run_job", "measurement", "confirmation",
)  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """One kind of shape under one kind of noise.

    Attributes:
        name: as printed.
        noise: standard deviation of a sample's log time.
        n_candidates: solutions in the screen besides the stock library's own.
        gain: the first candidate's speed-up; the others are as fast as the stock kernel.
        screened: the stock kernel is in the screen, and only faster ones are confirmed; otherwise all are.
        drift, outliers: see above.
    """

    name: str
    noise: float
    n_candidates: int = 1
    gain: float = 1.0
    screened: bool = False
    drift: bool = False
    outliers: bool = False


def scenarios() -> list[Scenario]:
    """What the page docs/verdicts.md shows."""
    found = []
    for noise in (0.01, 0.03, 0.08):
        for drift in (False, True):
            what = f"noise {100 * noise:.0f} %{', drift' if drift else ''}"
            found.append(Scenario(f"A/A, {what}", noise, drift=drift))
            found.append(Scenario(f"300 equal candidates, {what}", noise, 300, screened=True, drift=drift))
    found.append(Scenario("A/A, noise 3 %, outliers", 0.03, outliers=True))
    for noise, gain in ((0.01, 1.05), (0.03, 1.10)):
        for drift in (False, True):
            what = f"noise {100 * noise:.0f} %{', drift' if drift else ''}"
            found.append(Scenario(f"gain {100 * (gain - 1):.0f} %, {what}", noise, 4, gain, drift=drift))
    found.append(Scenario("gain 10 %, noise 3 %, outliers", 0.03, 4, 1.10, outliers=True))
    # What the screen loses: the faster one must be among the four fastest of 300.
    found.append(Scenario("gain 5 % for 1 of 300, noise 1 %", 0.01, 300, 1.05, screened=True))
    found.append(Scenario("gain 10 % for 1 of 300, noise 3 %", 0.03, 300, 1.10, screened=True))
    return found


@dataclass(frozen=True)
class Outcome:
    """What became of the shapes of a scenario.

    Attributes:
        n: shapes.
        kept, rejected, undecided: fractions of them; shapes that had nothing to confirm count as rejected.
        median_pairs: of shapes that were confirmed and decided; None without any.
        device_s: mean device seconds of a shape's qualifying and confirmation.
        point_kept: fraction that the point rule keeps.
    """

    n: int
    kept: float
    rejected: float
    undecided: float
    median_pairs: float | None
    device_s: float
    point_kept: float


def uid(name: str) -> str:
    """An id by name."""
    return content_id("bench-verdicts", name)


# A standard normal deviate of a key, and the time of a sample: kernel, noise, drift by its place t in its job.
SETUP = (
    "CREATE OR REPLACE MACRO uid(name) AS content_id('bench-verdicts', name)",
    "CREATE OR REPLACE MACRO uniform(key) AS (1 + hash(key) % 9007199254740881) / 9007199254740992.0",
    """CREATE OR REPLACE MACRO deviate(key) AS if(uniform(key) <= 0.5, -1, 1)
       * normal_quantile(least(uniform(key), 1 - uniform(key)))""",
    """CREATE OR REPLACE MACRO sample_us(true_us, key, noise, drift, outliers, job, t) AS
       true_us * exp(noise * deviate(concat('n', key)))
       * if(drift, 1 + 0.03 * (1 - exp(-t / 20.0)) + 0.02 * sin(2 * pi() * (t / 60.0 + uniform(job))), 1.0)
       * if(outliers AND uniform(concat('o', key)) < 0.02, 1.3, 1.0)""",
)
FILL = (
    """INSERT INTO problem BY NAME
       SELECT uid(concat('shape', i)) AS problem_id, 'T' AS trans_a, 'N' AS trans_b,
              64 * (1 + i % 40) AS m, 64 * (1 + i // 40) AS n, 1 AS batch, 4096 AS k, 'bf16_r' AS a_type,
                'bf16_r' AS b_type, 'bf16_r' AS c_type,
              'bf16_r' AS d_type, 'f32_r' AS compute_type, 'f32_r' AS scale_type, 0 AS scale_a, 0 AS scale_b, 0 AS scale_c,
              0 AS scale_d, false AS swizzle_a, false AS swizzle_b, 'none' AS activation, false AS gradient,
              false AS grouped,             false AS scale_alpha_vector, 'one' AS alpha_class, 'zero' AS beta_class
       FROM range($n) AS t(i)""",
    """INSERT INTO run_problem BY NAME
       SELECT r.run_id, p.problem_id, (p.n // 64 - 1) * 40 + p.m // 64 - 1 AS seq, 1 AS call_count, true AS kept
       FROM problem AS p, run AS r""",
    """INSERT INTO job BY NAME
       SELECT uid(kind) AS job_id, kind, 'done' AS state, 0 AS priority, 1 AS cost_s, 'b' AS batch_key,
              uid(concat('protocol ', kind)) AS protocol_id, uid('env') AS environment_id,
              uid(if(kind = 'compare', 'tuned', 'stock')) AS library_id, 1 AS attempts, 1 AS max_attempts,
              false AS alone, 9 AS timeout_s, 'ok' AS outcome, $now::TIMESTAMPTZ AS updated_at
       FROM (SELECT unnest(['baseline', 'screen', 'compare']) AS kind)""",
    """INSERT INTO run_job BY NAME SELECT r.run_id, j.job_id FROM run AS r, job AS j
       WHERE j.kind <> 'compare' OR r.run_id = uid('point')""",
    # Baseline, and the screen: the stock kernel is solution 0.
    """INSERT INTO measurement BY NAME
       SELECT uid(concat(s.kind, p.problem_id, s.i)) AS measurement_id, p.problem_id,
              uid(concat('kernel', s.i)) AS solution_id, s.i AS solution_index,
              uid('stock') AS library_id, uid('env') AS environment_id,
              uid(concat('protocol ', s.kind)) AS protocol_id, uid(s.kind) AS job_id,
              'ok' AS outcome, 100 AS iters, 20 AS cold_iters,
              sample_us($us / if(s.i = 1, $gain, 1.0), concat($seed, s.kind, p.problem_id, s.i), $noise, false,
                false, 'x', 0) AS us
       FROM problem AS p,
            (SELECT 'baseline' AS kind, 0 AS i UNION ALL SELECT 'screen', i FROM range(if($screened, 0, 1),
              $candidates + 1) AS t(i)) AS s""",
    # The point rule: the winner of the screen and the stock kernel, once each.
    """INSERT INTO measurement BY NAME
       SELECT uid(concat('compare', w.problem_id, a.arm)) AS measurement_id, w.problem_id,
              if(a.arm = 'tuned', w.solution_id, uid('kernel0')) AS solution_id,
              if(a.arm = 'tuned', w.solution_index, 0) AS solution_index, uid('tuned') AS library_id,
              uid('env') AS environment_id, uid('protocol compare') AS protocol_id,
              uid('compare') AS job_id, uid('block') AS block_id, 0 AS round, a.arm,
              'ok' AS outcome, 1000 AS iters, 1000 AS cold_iters,
              sample_us($us / if(a.arm = 'tuned' AND w.solution_index = 1, $gain, 1.0), concat($seed, 'compare',
                w.problem_id, a.arm),
                        $noise, $drift, $outliers, w.problem_id::VARCHAR, if(a.arm = 'tuned', 1, 0)) AS us
       FROM run_winner AS w, (SELECT unnest(['reference', 'tuned']) AS arm) AS a
       WHERE w.run_id = uid('point') AND NOT w.is_stock_choice""",
)
#: What a runner would answer to the jobs of a look: rows in their order, which turns around from round to round.
ANSWER = (
    """INSERT INTO job BY NAME SELECT *, 'done' AS state, 1 AS attempts, false AS alone, 'ok' AS outcome,
              $now::TIMESTAMPTZ AS updated_at
       FROM (SELECT * EXCLUDE (spec, problem_id) FROM planned)""",
    "INSERT INTO job_spec BY NAME SELECT job_id, spec::JSON AS spec FROM planned",
    """INSERT INTO run_job BY NAME SELECT uid('interval') AS run_id, job_id FROM planned""",
    """INSERT INTO measurement BY NAME
       WITH cell AS (
           SELECT p.job_id, p.library_id, p.protocol_id, p.environment_id, (p.spec ->> '$.rounds')::INTEGER AS rounds,
                  len(from_json(p.spec -> '$.problem_ids', '["VARCHAR"]')) AS n_rows,
                  unnest(range(len(from_json(p.spec -> '$.problem_ids', '["VARCHAR"]')))) AS nr,
                  unnest(from_json(p.spec -> '$.problem_ids', '["VARCHAR"]'))::UUID AS problem_id,
                  unnest(from_json(p.spec -> '$.row_arms', '["INTEGER"]')) AS arm,
                  unnest(from_json(p.spec -> '$.rows', '[{"solution_index": "BIGINT", "iters": "INTEGER",
                    "cold_iters": "INTEGER"}]'),
                         recursive := true)
           FROM planned AS p
       ), placed AS (
           SELECT c.*, r.round, r.round * c.n_rows + if(r.round % 2 = 0, c.nr, c.n_rows - 1 - c.nr) AS t,
                  coalesce(c.solution_index, 0) AS kernel
           FROM cell AS c, LATERAL (SELECT unnest(range(c.rounds)) AS round) AS r
       )
       SELECT uid(concat(job_id, round, nr)) AS measurement_id, problem_id,
              uid(concat('kernel', kernel)) AS solution_id, kernel AS solution_index, library_id, environment_id,
              protocol_id, job_id, job_id AS block_id, round, if(arm = 0, 'reference', 'candidate') AS arm,
                'ok' AS outcome, iters, cold_iters,
              sample_us($us / if(kernel = 1, $gain, 1.0), concat($seed, job_id, problem_id, round, kernel), $noise,
                $drift, $outliers,
                        job_id::VARCHAR, t) AS us
       FROM placed""",
)


def play(scratch: Scratch, scenario: Scenario, n_shapes: int, seed: int) -> Outcome:
    """Run one scenario.

    Args:
        scratch: a database with views; what an earlier scenario left in it goes.
        scenario: what is simulated.
        n_shapes: how many shapes.
        seed: of all draws.
    """
    for table in TABLES:
        scratch.execute(f"DELETE FROM {table}")
    for text in SETUP:
        scratch.execute(text)
    draws = {
        "us": US, "gain": scenario.gain, "noise": scenario.noise, "drift": scenario.drift, "outliers": scenario.outliers,
        "seed": f"{seed} {scenario.name} ",
    }  # fmt: skip
    _prepare(scratch)
    rest = {"n": n_shapes, "now": NOW, "candidates": scenario.n_candidates, "screened": scenario.screened}
    for text in FILL:
        _run(scratch, text, draws | rest)
    _confirm(scratch, draws)
    (row,) = scratch.sql(
        """SELECT count(*) FILTER (WHERE c.state = 'kept') AS kept,
                  count(*) FILTER (WHERE coalesce(c.state, 'rejected') = 'rejected') AS rejected,
                  count(*) FILTER (WHERE c.state = 'open') AS undecided,
                  median(c.n_pairs) FILTER (WHERE c.state <> 'open') AS pairs,
                  coalesce(sum(c.spent_s), 0) + (
                      SELECT coalesce(sum(us * (iters + cold_iters)), 0) / 1e6 FROM measurement
                      WHERE protocol_id = uid('protocol qualify')) AS spent_s
           FROM run_problem AS p LEFT JOIN run_confirm AS c ON c.run_id = p.run_id AND c.problem_id = p.problem_id
           WHERE p.run_id = $run::UUID""",
        run=uid("interval"),
    ).to_pylist()
    (point,) = scratch.sql(
        "SELECT count(*) FILTER (WHERE class = 'kept') AS kept FROM run_decision WHERE run_id = $run::UUID",
        run=uid("point"),
    ).to_pylist()
    return Outcome(
        n_shapes, row["kept"] / n_shapes, row["rejected"] / n_shapes, row["undecided"] / n_shapes, row["pairs"],
        row["spent_s"] / n_shapes, point["kept"] / n_shapes,
    )  # fmt: skip


def _run(scratch: Scratch, text: str, params: dict[str, Any]) -> None:
    named = set(re.findall(r"\$(\w+)", text))
    scratch.con.execute(text, {name: value for name, value in params.items() if name in named})


def _prepare(scratch: Scratch) -> None:
    environment = {
        "environment_id": uid("env"), "simulated": True, "gfx": "gfx942:x", "identity": "{}", "first_seen": NOW,
    }  # fmt: skip
    scratch.apply(Append("environment", pa.Table.from_pylist([environment])))
    scratch.execute("DELETE FROM protocol")
    roles = [
        {"protocol_id": uid(f"protocol {role}"), "harness": "bench", "role": role, "settings": "{}"}
        for role in ("baseline", "screen", "qualify", "compare", "confirm")
    ]
    scratch.apply(Append("protocol", pa.Table.from_pylist(roles)))
    for rule in ("interval", "point"):
        options = {**OPTIONS.kept_in_run("search"), "rule": rule, "verify": False}
        row = {
            "run_id": uid(rule), "kind": "search", "label": rule, "state": "running", "simulated": True,
            "environment_id": uid("env"),            "library_id": uid("stock"),
            "tuned_library_id": uid("tuned"), "n_starts": 1, "options": json.dumps(options),
            "started_at": NOW,
        }  # fmt: skip
        scratch.apply(Append("run", pa.Table.from_pylist([row])))


def _confirm(scratch: Scratch, draws: dict[str, Any]) -> None:
    """The loop of `geko.runs.confirm` with drawn samples in place of runners."""
    protocol = protocols.confirm(OPTIONS)
    plan = {
        "run_id": uid("interval"), "library_id": uid("stock"), "libpath": None, "candidate_library_id": uid("stock"),
        "candidate_libpath": None, "protocol_id": uid("protocol confirm"), "environment_id": uid("env"), "priority": 0.0,
        "max_attempts": 1, "timeout_s": 9.0, "root": "/", "settings": protocols.bench_settings(protocol), "env": "{}",
        "iters": protocols.ITERS, "cold_iters": protocols.COLD_ITERS, "duration_s": OPTIONS.compare_duration,
        "n_candidates": OPTIONS.confirm_candidates, "shape_budget_s": OPTIONS.confirm_budget,
        "run_budget_s": OPTIONS.confirm_run_budget, "chunk": 8,
    }  # fmt: skip
    of_search = {name: plan[name] for name in plan if name not in (
        "candidate_library_id", "candidate_libpath", "shape_budget_s", "run_budget_s",
    )} | {
        "protocol_id": uid("protocol qualify"), "duration_s": OPTIONS.duration, "n_qualify": N_QUALIFY,
        "rounds": QUALIFY_ROUNDS,
    }  # fmt: skip
    _answer(scratch, scratch.query("run/plan_qualify", None, **of_search), draws)
    for look in range(1, MAX_LOOKS + 1):
        planned = scratch.query("run/plan_confirm", None, **plan, look=look)
        if not planned.num_rows:
            return
        _answer(scratch, planned, draws)
        scratch.apply(
            Statement("run/clear_confirmation", {"run_id": uid("interval")}),
            Statement("run/judge_confirmation", {"run_id": uid("interval"), "now": NOW}),
        )


def _answer(scratch: Scratch, planned: pa.Table, draws: dict[str, Any]) -> None:
    """Draw what the jobs measure."""
    scratch.con.register("planned", planned)
    for text in ANSWER if planned.num_rows else ():
        _run(scratch, text, draws | {"now": NOW})
    scratch.con.unregister("planned")


def main() -> None:
    """Play all scenarios and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="scenarios whose name holds this")
    asked = parser.parse_args()
    print(
        f"{asked.shapes} shapes a scenario, seed {asked.seed}, budget {OPTIONS.confirm_budget:g} s a shape (all simulated)"
    )
    head = (
        "scenario",
        "kept %",
        "rejected %",
        "undecided %",
        "median pairs",
        "device s",
        "point rule kept %",
    )
    print(f"{head[0]:38} {head[1]:>7} {head[2]:>11} {head[3]:>12} {head[4]:>13} {head[5]:>9} {head[6]:>18}")
    with Scratch() as scratch:
        for scenario in scenarios():
            if asked.only not in scenario.name:
                continue
            begin = time.monotonic()
            found = play(scratch, scenario, asked.shapes, asked.seed)
            pairs = "-" if found.median_pairs is None else f"{found.median_pairs:g}"
            print(
                f"{scenario.name:38} {100 * found.kept:7.2f} {100 * found.rejected:11.2f} {100 * found.undecided:12.2f} "
                f"{pairs:>13} {found.device_s:9.1f} {100 * found.point_kept:18.2f}",
                flush=True,
            )
            print(f"{time.monotonic() - begin:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
