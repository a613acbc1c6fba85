"""The genetic algorithm of the Tensile stand-in: Ductile's loop, options, table and checkpoint.

One gene an axis. Selection by tournament, uniform crossover, random mutation, the fittest survive. Everything is
drawn from the seed, and the state is kept after each generation: a search that was killed and goes on ends as if
it had never stopped.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geko.errors import InputError
from geko.fsio import write_text_atomic
from geko.simulator.kernels import Kernel, Workshop
from geko.simulator.tensile_client import Client, Timed
from geko.simulator.tuning_config import Problem

CHECKPOINT = "step-00__ductile.checkpoint"
_FORM = 1
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

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """Options of a config; those that the stand-in doesn't act on are ignored."""
        names = set(cls.__dataclass_fields__) - {"mutation"}
        values = {name: value for name, value in given.items() if name in names and value is not None}
        prob = (
            (given.get("mutation") or {}).get("prob") if isinstance(given.get("mutation"), Mapping) else None
        )
        return cls(**values, mutation=prob)

    def population(self, problem: Problem, most: int) -> int:
        """Individuals a generation.

        Args:
            problem: the space.
            most: kernels that a simulated job may look at.

        Raises:
            InputError: the space is smaller than a population.
        """
        size = self.pop_size
        widest = max((len(axis.options) for axis in problem.axes), default=1)
        if self.auto_pop_size:
            if widest > size:
                size = math.ceil(1.15 * widest)
            for _ in range(2):
                if widest < size / 5:
                    size //= 2
        size = min(size, max(8, most // max(1, self.n_gen)))
        if problem.n_kernels < size:
            raise InputError(
                f"the search space of {problem.n_kernels} kernels is smaller than the population of {size}: "
                "use the Tensile backend"
            )
        return size


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
        size: individuals a generation.
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
    done: bool = False
    rng: random.Random = field(default_factory=random.Random)

    def run(self) -> tuple[list[Kernel], Timed]:
        """Search to the end; the best kernel of each size, checked as the options say.

        Raises:
            InputError: no kernel of the space can be built, or none passes the final check.
        """
        self.rng.seed(self.options.seed)
        if not self._resume():
            _emit(f"# Ductile: {self.problem.n_kernels} kernels in the space, population {self.size}\n")
            self._head()
        while not self.done and len(self.stats) < self.options.n_gen:
            self._generation(len(self.stats) + 1)
        finalists = self._finalists()
        kernels = [kernel for kernel in self.workshop.build(self._choices(finalists)) if kernel is not None]
        timed = self.client.run(
            kernels, self.problem.sizes, self.problem.bias_types, draw="final",
            checked=self.options.n_elements_to_validate,
        )  # fmt: skip
        if all(timed.winner(row) is None for row in range(len(timed.problems))):
            raise InputError("no individual passes the final validation")
        return kernels, timed

    def _generation(self, number: int) -> None:
        offspring = self._fresh(number)
        if not offspring and not self.population:
            raise InputError(
                "no valid individual was found: tensilelite would refuse all kernels that were drawn"
            )
        if offspring:
            self.at_work(number, offspring)
            timed = self.client.run(
                offspring, self.problem.sizes, self.problem.bias_types, draw=f"generation {number}", checked=0,
                generation=number,
            )  # fmt: skip
            self.n_evals += len(offspring)
            self.population += [
                Individual(kernel.genes, [row[at] for row in timed.gflops])
                for at, kernel in enumerate(offspring)
            ]
        self._rank()
        self.population = self.population[: self.size]
        diversity = self._diversity()
        fitness = [item.fitness for item in self.population]
        self.stats.append([diversity, sum(fitness) / len(fitness), max(fitness), max(self.best)])
        self._line(number)
        if diversity < self.options.div_thr and len(self.population) > 16:
            self.population = self.population[: len(self.population) // 2]
        self.done = self._converged() or not offspring
        self._keep()

    def _fresh(self, number: int) -> list[Kernel]:
        """New valid kernels: random ones first, later children of the population."""
        found: list[Kernel] = []
        for _ in range(self.options.max_iters):
            wanted = self.size - len(found)
            if wanted <= 0 or len(self.seen) >= self.problem.n_kernels:
                break
            # Most draws are refused: many at once are judged faster than few at a time.
            drawn = [self._child() if number > 1 else self._random() for _ in range(_DRAWN * wanted)]
            new = [genes for genes in dict.fromkeys(drawn) if genes not in self.seen]
            for genes, kernel in zip(new, self.workshop.build(self._choices(new)), strict=True):
                if len(found) == self.size:
                    break
                self.seen.add(genes)
                if kernel is not None:
                    found.append(kernel)
        return found

    def _random(self) -> Genes:
        return tuple(self.rng.randrange(len(axis.options)) for axis in self.problem.axes)

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

    def _rank(self) -> None:
        """Fitness: rates over the best seen, mean or maximum over the sizes; fittest first."""
        rows = len(self.population[0].gflops)
        self.best = [max(item.gflops[row] for item in self.population) for row in range(rows)]
        for item in self.population:
            shares = [
                max(0.0, rate) / best if best > 0 else 0.0
                for rate, best in zip(item.gflops, self.best, strict=True)
            ]
            item.fitness = sum(shares) / rows if self.options.soo else max(shares)
        self.population.sort(key=lambda item: (-item.fitness, item.genes))

    def _diversity(self) -> float:
        """Mean share of axes on which neighbours differ."""
        pairs = list(zip(self.population, self.population[1:], strict=False))
        if not pairs:
            return 0.0
        differ = sum(a != b for one, other in pairs for a, b in zip(one.genes, other.genes, strict=True))
        return differ / (len(pairs) * max(1, len(self.problem.axes)))

    def _converged(self) -> bool:
        period = self.options.period
        if len(self.stats) <= period:
            return False
        for column in (1, 3):
            before = [row[column] for row in self.stats[-period - 1 : -1]]
            mean = sum(before) / period
            if self.stats[-1][column] > mean * (1.0 + self.options.tol):
                return False
        return True

    def _finalists(self) -> list[Genes]:
        """The best individual of each size, each once."""
        ordered = []
        for row in range(len(self.best)):
            rates = [item.gflops[row] for item in self.population]
            ordered.append(self.population[rates.index(max(rates))].genes)
        return list(dict.fromkeys(ordered))

    def _choices(self, genes: Sequence[Genes]) -> list[tuple[Genes, Mapping[str, Any]]]:
        return [(item, self.problem.parameters(item)) for item in genes]

    def _head(self) -> None:
        text = f"{'=' * 58}\n n_gen |  n_evals | diversity |    f_avg |    f_max\n{'-' * 58}\n"
        _emit(text)
        write_text_atomic(self.log, text)

    def _line(self, number: int) -> None:
        diversity, mean, most, _ = self.stats[-1]
        text = f"{number:6d} | {self.n_evals:8d} | {diversity:9.4f} | {mean:8.4f} | {most:8.4f}\n"
        _emit(text)
        with self.log.open("a", encoding="utf-8") as handle:
            handle.write(text)

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
            "seen": sorted(self.seen), "log": self.log.read_text(encoding="utf-8"),
            "pop": [[list(item.genes), item.gflops, item.fitness] for item in self.population],
        }  # fmt: skip
        write_text_atomic(self.checkpoint, json.dumps(content))

    def _resume(self) -> bool:
        """Take the state of an earlier process up."""
        if not self.checkpoint.is_file():
            return False
        try:
            content = json.loads(self.checkpoint.read_text(encoding="utf-8"))
            if content["space"] != self._identity():
                raise ValueError("its space is another one")
            version, internal, gauss = content["rng"]
            self.population = [
                Individual(tuple(genes), list(rates), fit) for genes, rates, fit in content["pop"]
            ]
        except (ValueError, KeyError, TypeError) as error:
            _emit(f"Ductile::WARNING: the checkpoint can't be used ({error}): starting anew\n")
            return False
        self.rng.setstate((version, tuple(internal), gauss))
        self.stats, self.best, self.n_evals = content["stats"], content["best"], content["n_evals"]
        self.seen = {tuple(genes) for genes in content["seen"]}
        self.done = content["done"]
        # Lines of a generation that was not finished are written again.
        write_text_atomic(self.log, content["log"])
        _emit(f"# Ductile: resumed after generation {len(self.stats)}\n")
        return True


def _emit(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
