"""The genetic algorithm of the Tensile stand-in: Ductile's loop, options, messages, table and checkpoint.

Forms: ``Tensile/backends/ductile_backend.py`` and ``Tensile/ductile`` of tensilelite in ROCm/rocm-libraries (2026). One gene
an axis. Selection by tournament, uniform crossover, random mutation, the fittest survive. Everything is
drawn from the seed, and the state is kept after each generation: a search that was killed and goes on ends as if
it had never stopped.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geko.fsio import write_text_atomic
from geko.simulator.kernels import Kernel, Workshop
from geko.simulator.tensile_client import Client, Timed
from geko.simulator.tuning_config import Problem

CHECKPOINT = "step-00__ductile.checkpoint"
_FORM = 2
_SMALLEST = 16  # individuals that a population of low diversity keeps
_DRAWN = 8  # individuals drawn for each that is wanted
Genes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """``Backend.Config`` with Ductile's defaults.

    Attributes:
        pop_size: individuals; ``auto_pop_size`` fits it to the space.
        n_gen: generations.
        soo: mean over sizes instead of their maximum.
        period, tol: the search ends when neither mean nor maximum grew by ``tol`` over ``period`` generations.
        div_thr: mean Hamming distance below which the population is halved.
        max_iters: attempts to find individuals that are valid and new.
        seed: of all draws.
        n_elements_to_validate: of the final check; 0 for none.
        mutation: probability a gene; None for one gene of the individual.
        weights: sampling cost of each option of an axis; ``weight_beta`` makes probabilities of them.
    """

    pop_size: int = 512
    n_gen: int = 30
    soo: bool = False
    period: int = 5
    tol: float = 0.0008
    div_thr: float = 0.5
    max_iters: int = 250
    seed: int = 0
    n_elements_to_validate: int = 0
    auto_pop_size: bool = True
    mutation: float | None = None
    weights: tuple[tuple[str, tuple[float, ...]], ...] = ()
    weight_beta: float = 0.25

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """Options of a config; those that the stand-in doesn't act on are ignored."""
        names = set(cls.__dataclass_fields__) - {"mutation", "weights"}
        values = {name: value for name, value in given.items() if name in names and value is not None}
        prob = (
            (given.get("mutation") or {}).get("prob") if isinstance(given.get("mutation"), Mapping) else None
        )
        costs = tuple(
            (str(name), tuple(map(float, row)))
            for item in given.get("weights") or ()
            for name, row in item.items()
        )
        return cls(**values, mutation=prob, weights=costs)

    def population(self, problem: Problem, most: int) -> int:
        """Individuals of the first generation.

        Args:
            problem: the space.
            most: kernels that a simulated job may look at.

        Raises:
            DuctileError: the space is smaller than a population.
        """
        size = self.pop_size
        if problem.n_kernels < size:
            raise DuctileError(
                f"search space too small: only {problem.n_kernels} valid permutations for pop_size={size}. "
                "Consider using the Tensile backend for exhaustive search instead.",
                "ValueError",
            )
        widest = max((len(axis.options) for axis in problem.axes), default=1)
        if widest > size:
            size = int(1.15 * widest)
        elif self.auto_pop_size:
            for _ in range(2):
                if widest < size / 5:
                    size //= 2
        return min(size, problem.n_kernels, max(8, most // max(1, self.n_gen)))


class DuctileError(Exception):
    """Ends the program as the real one ends.

    Attributes:
        kind: class of the exception whose traceback is printed; None for a message of Tensile's own.
    """

    def __init__(self, message: str, kind: str | None = None) -> None:
        self.kind = kind
        super().__init__(message)


@dataclass(slots=True)
class Individual:
    """A kernel with its scores.

    Attributes:
        genes: choice per axis.
        gflops: per size and bias type; not above 0 where it has no time.
        fitness: of the last ranking.
    """

    genes: Genes
    gflops: list[float]
    fitness: float = 0.0


@dataclass(slots=True)
class Search:
    """A genetic search over one problem type.

    Attributes:
        problem: the space and the sizes.
        workshop: makes kernels.
        client: times them.
        options: of the algorithm.
        size: individuals of the first generation; ``now`` of the next.
        checkpoint: file of the state.
        log: file of the table.
        at_work: called with each generation's number and kernels: builds them, and takes out those that don't build.
    """

    problem: Problem
    workshop: Workshop
    client: Client
    options: Options
    size: int
    checkpoint: Path
    log: Path
    at_work: Callable[[int, list[Kernel]], None] = lambda generation, kernels: None
    population: list[Individual] = field(default_factory=list)
    seen: set[Genes] = field(default_factory=set)
    stats: list[list[float]] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    n_evals: int = 0
    now: int = 0
    chances: dict[int, list[float]] = field(default_factory=dict)
    done: bool = False
    rng: random.Random = field(default_factory=random.Random)

    def run(self) -> tuple[list[Kernel], Timed]:
        """Search to the end; the best kernel of each size, checked as the options say.

        Raises:
            DuctileError: too few kernels of the space can be built, or none passes the final check.
        """
        _say("# DuctileBackend: Starting GA optimization")
        # The real program, too, begins a new file when it goes on from a checkpoint.
        write_text_atomic(self.log, "")
        self.rng.seed(self.options.seed)
        self._info("Setup completed.")
        self._info(
            f"GeneticAlgorithm(pop_size={self.size}, n_gen={self.options.n_gen}, period={self.options.period}, "
            f"tol={self.options.tol}, div_thr={self.options.div_thr}, soo={self.options.soo})"
        )
        self._info(
            f"SearchSpace(num_vars={len(self.problem.axes)}, n_perms={float(self.problem.n_kernels)}, "
            f"counts={ {axis.name: len(axis.options) for axis in self.problem.axes} })"
        )
        self._weigh()
        if not self._resume():
            self.now = self.size
            self._info("Sampling initial population...")
        self._info("Starting optimization...")
        while not self.done and len(self.stats) < self.options.n_gen:
            self._generation(len(self.stats) + 1)
        finalists = self._finalists()
        self._info(f"F: {sum(self.best) / len(self.best):.4f}")
        kernels = [kernel for kernel in self.workshop.build(self._choices(finalists)) if kernel is not None]
        timed = self._final(kernels)
        passed = [at for at in range(len(kernels)) if all(row[at] > 0 for row in timed.gflops)]
        if any(rate == -1 for row in timed.gflops for rate in row):
            if not passed:
                raise DuctileError("DuctileBackend:No solutions passed the verification stage")
            if len(passed) < len(kernels):
                _warn(f"# DuctileBackend: {len(passed)}/{len(kernels)} passed verification")
                kernels = [kernels[at] for at in passed]
                timed = self._final(kernels)
        return kernels, timed

    def _final(self, kernels: list[Kernel]) -> Timed:
        _say(f"# DuctileBackend: Generated {len(kernels)} valid solutions from {len(kernels)} candidates")
        return self.client.run(
            kernels, self.problem.sizes, self.problem.bias_types, draw="final",
            checked=self.options.n_elements_to_validate,
        )  # fmt: skip

    def _generation(self, number: int) -> None:
        offspring = self._fresh(number)
        if not offspring:
            self._info(
                "Mating stopped early: max iters reached while generating offsprings. Ending optimization with current "
                "best solution.",
                "WARNING",
            )
            self.done = True
            return
        _say(f"# DuctileBackend: Generated {len(offspring)} valid solutions from {len(offspring)} candidates")
        self.at_work(number, offspring)
        timed = self.client.run(
            offspring, self.problem.sizes, self.problem.bias_types, draw=f"generation {number}", checked=0,
            generation=number,
        )  # fmt: skip
        self.n_evals += sum(any(row[at] > 0 for row in timed.gflops) for at in range(len(offspring)))
        fresh = [
            Individual(kernel.genes, [row[at] for row in timed.gflops]) for at, kernel in enumerate(offspring)
        ]
        self._rank(fresh)
        rates = [rate for item in fresh for rate in item.gflops if rate > 0]
        mean = sum(rates) / len(rates) if rates else -1.0
        diversity = _diversity([item.genes for item in fresh])
        self.stats.append([diversity, mean, sum(self.best) / len(self.best)])
        self._table(
            n_gen=number, n_evals=self.n_evals, diversity=diversity, f_avg=mean, f_max=self.stats[-1][2]
        )
        self.done = self._converged()
        if self.done:
            self._info(
                f"Stop criterion reached: f_avg and f_max did not increase for the last {self.options.period} generations."
            )
        if diversity < self.options.div_thr:
            # Populations are small here already: the real program has hundreds, and never comes down to a handful.
            least = min(self.size, _SMALLEST)
            self.now = max(least, int(self.size / 2 + (self.now - self.size / 2) / 1.25))
        self.population = self.population[: self.now]
        self._keep()

    def _fresh(self, number: int) -> list[Kernel]:
        """New valid kernels: random ones first, later children of the population."""
        found: list[Kernel] = []
        wanted = self.now
        for _ in range(self.options.max_iters):
            if len(found) == wanted or len(self.seen) >= self.problem.n_kernels:
                break
            # Most draws are refused: many at once are judged faster than few at a time.
            drawn = [
                self._child() if number > 1 else self._random() for _ in range(_DRAWN * (wanted - len(found)))
            ]
            new = [genes for genes in dict.fromkeys(drawn) if genes not in self.seen]
            for genes, kernel in zip(new, self.workshop.build(self._choices(new)), strict=True):
                if len(found) == wanted:
                    break
                self.seen.add(genes)
                if kernel is not None:
                    found.append(kernel)
        if number == 1 and len(found) < wanted:
            self._info("Max iterations reached. Attempting with half the population size...", "WARNING")
            if len(found) < max(2, wanted // 2):
                raise DuctileError(
                    f"max iters reached while sampling a population: {len(found)}/{wanted // 2}",
                    "MaxIterationsReached",
                )
        return found

    def _weigh(self) -> None:
        """Probabilities of the options of axes that have sampling costs; form and messages: ``ductile/algorithm/ga.py``."""
        places = {axis.name: at for at, axis in enumerate(self.problem.axes) if len(axis.options) > 1}
        for name, costs in self.options.weights:
            if name not in places:
                self._info(
                    f"Parameter {name} not found in the search space. Sampling probability ignored.",
                    "WARNING",
                )
                continue
            if len(costs) != len(self.problem.axes[places[name]].options):
                raise DuctileError(
                    f"Parameter {name} weights should be an iterable with the same size as the parameter space.",
                    "ValueError",
                )
            least = min(costs)
            self.chances[places[name]] = [
                math.exp(-self.options.weight_beta * (cost - least)) for cost in costs
            ]

    def _random(self) -> Genes:
        return tuple(
            self.rng.choices(range(len(axis.options)), self.chances[at])[0]
            if at in self.chances
            else self.rng.randrange(len(axis.options))
            for at, axis in enumerate(self.problem.axes)
        )

    def _child(self) -> Genes:
        mother, father = self._parent(), self._parent()
        genes = list(mother.genes)
        if self.rng.random() < 0.9:
            genes = [b if self.rng.random() < 0.5 else a for a, b in zip(genes, father.genes, strict=True)]
        chance = self.options.mutation or 1.0 / max(1, len(genes))
        for at, axis in enumerate(self.problem.axes):
            if self.rng.random() < chance:
                genes[at] = self.rng.randrange(len(axis.options))
        return tuple(genes)

    def _parent(self) -> Individual:
        pair = [self.population[self.rng.randrange(len(self.population))] for _ in range(2)]
        return max(pair, key=lambda item: item.fitness)

    def _rank(self, fresh: list[Individual]) -> None:
        """Fitness: rates over the best seen, mean or maximum over the sizes; fittest first."""
        self.population += fresh
        rows = range(len(self.population[0].gflops))
        self.best = [max(item.gflops[row] for item in self.population) for row in rows]
        for item in self.population:
            shares = self._shares(item)
            item.fitness = sum(shares) / len(shares) if self.options.soo else max(shares)
        self.population.sort(key=lambda item: (-item.fitness, item.genes))

    def _shares(self, item: Individual) -> list[float]:
        return [
            max(0.0, rate) / best if best > 0 else 0.0
            for rate, best in zip(item.gflops, self.best, strict=True)
        ]

    def _converged(self) -> bool:
        period = self.options.period
        if not period or len(self.stats) <= period:
            return False
        slack = self.stats[-1][2] * self.options.tol
        return all(
            sum(row[column] for row in self.stats[-period - 1 : -1]) / period + slack
            >= self.stats[-1][column]
            for column in (1, 2)
        )

    def _finalists(self) -> list[Genes]:
        """The best individual of each size, each once; with ``soo`` the best over all sizes."""
        if self.options.soo and len(self.best) > 1:
            return [max(self.population, key=lambda item: sum(self._shares(item))).genes]
        ordered = []
        for row in range(len(self.best)):
            rates = [item.gflops[row] for item in self.population]
            ordered.append(self.population[rates.index(max(rates))].genes)
        return list(dict.fromkeys(ordered))

    def _choices(self, genes: Sequence[Genes]) -> list[tuple[Genes, Mapping[str, Any]]]:
        return [(item, self.problem.parameters(item)) for item in genes]

    def _info(self, text: str, level: str = "INFO") -> None:
        self._print(f"GA:{level} {text}")

    def _table(self, **figures: float) -> None:
        """A table of one generation; form: ``ductile/utils/logger.py`` of tensilelite."""
        heads, cells = [], []
        for name, value in figures.items():
            width = int(math.log10(value)) + 3 if value > 0 else 3
            shown: float = value
            if isinstance(value, float):
                shown, width = round(value, 3), width + 2
            width = max(width, len(name))
            heads.append(f"{name:^{width}}")
            cells.append(f"{shown:^{width}}")
        head, row = " " + " | ".join(heads), " " + " | ".join(cells)
        rule = "=" * (len(head) + 2)
        self._print("\n".join([rule, head, "-" * len(rule), row, rule]))

    def _print(self, text: str) -> None:
        """As the real program's logger: to its file, and to the standard error."""
        sys.stdout.flush()
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
        with self.log.open("a", encoding="utf-8") as handle:
            handle.write(text + "\n")

    def _identity(self) -> list[Any]:
        axes = [[axis.name, len(axis.options)] for axis in self.problem.axes]
        return [
            _FORM,
            axes,
            [list(size) for size in self.problem.sizes],
            list(self.problem.bias_types),
            self.size,
        ]

    def _keep(self) -> None:
        version, internal, gauss = self.rng.getstate()
        content = {
            "simulated": True, "space": self._identity(), "gen": len(self.stats), "done": self.done,
            "stats": self.stats, "best": self.best, "n_evals": self.n_evals, "rng": [version, list(internal), gauss],
            "seen": sorted(self.seen), "pop_size": self.now,
            "pop": [[list(item.genes), item.gflops, item.fitness] for item in self.population],
        }  # fmt: skip
        write_text_atomic(self.checkpoint, json.dumps(content))

    def _resume(self) -> bool:
        """Take the state of an earlier process up."""
        if not self.checkpoint.is_file():
            return False
        _warn(
            f"DuctileBackend: Found existing checkpoint at {self.checkpoint}, resuming optimization from checkpoint"
        )
        try:
            content = json.loads(self.checkpoint.read_text(encoding="utf-8"))
            if content["space"] != self._identity():
                raise ValueError("space.map mismatch between checkpoint and current search space")
            version, internal, gauss = content["rng"]
            self.population = [
                Individual(tuple(genes), list(rates), fit) for genes, rates, fit in content["pop"]
            ]
        except (ValueError, KeyError, TypeError) as error:
            _warn(f"DuctileBackend: Failed to load checkpoint: {error}. Starting fresh optimization.")
            return False
        self.rng.setstate((version, tuple(internal), gauss))
        self.stats, self.best, self.n_evals = content["stats"], content["best"], content["n_evals"]
        self.seen = {tuple(genes) for genes in content["seen"]}
        self.done, self.now = content["done"], content["pop_size"]
        self._info(
            f"Resuming optimization from generation {len(self.stats) + 1} with best "
            f"F={sum(self.best) / len(self.best):.4f}..."
        )
        return True


def _diversity(genes: Sequence[Genes]) -> float:
    """Mean share of axes on which two individuals differ, over all pairs."""
    n = len(genes)
    if n < 2 or not genes[0]:
        return 0.0
    pairs = n * (n - 1)
    differ = [
        1.0 - sum(c * (c - 1) for c in Counter(axis).values()) / pairs for axis in zip(*genes, strict=True)
    ]
    return sum(differ) / len(differ)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _warn(text: str) -> None:
    _say(f"Tensile::WARNING: {text}")
