"""The experiment: every fit of the reference case, and rates of collapse over random bases."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import count
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dph_theory import beta_from_mu
from dph_theory.support.errors import argument_error
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import record

from ..threads import one_thread
from .family import Bigrams
from .measure import measure, rates, targets
from .optimum import SAME, Optimum, best_dirac, confirmed_minimum, projected, random_points, starting_points
from .problem import CollapseProblem, Objective, random_brackets, random_counts, reference
from .results import KIND, Config, Row, extended, findings
from .search import RADIUS, descend, find_jump, follow, minimise

LEAP = 0.3
"""Neighbouring lambdas between which validity grows by more are searched for a jump."""


@dataclass(frozen=True, eq=False)
class Fits:
    """Everything fitted to a problem in a family.

    strengths are the lambdas = 1/beta of the reverse-KL fits, increasing along a row. A global minimum is
    sought from `starts` random starts at each scale and the special ones; the rest is as `config` says.
    """

    problem: CollapseProblem
    family: Bigrams
    strengths: Float[np.ndarray, "cases settings"]
    rng: np.random.Generator
    starts: int
    config: Config

    def lines(self, mus: Sequence[float | None], alphas: Sequence[float]) -> list[Row]:
        """Every fit: of the reverse KL at each strength, which aims at a mu or at none, and of the others."""
        reverse = [*self.global_lines(), *self.ascent_lines(), *self.annealed_lines()]
        aimed = extended(reverse, mu=[*mus] * (3 * self.problem.cases))
        return [*aimed, *self.covering_lines(alphas), *self.reward_lines()]

    @cached_property
    def case(self) -> np.ndarray:
        """The base that each reverse-KL fit is about, strengths varying fastest."""
        return np.repeat(np.arange(self.problem.cases), self.strengths.shape[1])

    @cached_property
    def _parameters(self) -> tuple[Tensor, ...]:
        return self._bases[self.case], torch.from_numpy(self.strengths.ravel())

    @cached_property
    def _every(self) -> np.ndarray:
        return np.arange(self.problem.cases)

    @cached_property
    def _bases(self) -> Tensor:
        return self.problem.rows(self.family)

    @cached_property
    def _base(self) -> Tensor:
        return self._bases.flatten(-2)

    @cached_property
    def optima(self) -> Optimum:
        """The global minima of KL(pi||p_b), one row a base and strength."""
        return self._global(self.problem.reverse_kl(self.family), self.case, *self._parameters)

    @cached_property
    def _points(self) -> Float[Tensor, "cases starts size"]:
        return starting_points(self.problem, self.family, self.starts, self.rng)

    def _global(self, objective: Objective, case: np.ndarray, *parameters: Tensor) -> Optimum:
        """The global minimum of each row, which is about the base with this number."""
        dirac, family = best_dirac(self.problem, self.family), self.family
        fresh = partial(random_points, family, self.starts, self.rng)
        points = self._points[case]
        return confirmed_minimum(
            objective, family, points, dirac[case], *parameters, fresh=fresh, rounds=self.config.rounds
        )

    def global_lines(self) -> list[Row]:
        """The global minima with their certificates."""
        lines = self._reverse_kl_lines(self.optima.theta, "global")
        return extended(lines, certificate=self.optima.certificates())

    def ascent_lines(self) -> list[Row]:
        """Gradient ascent from the base, finished by Newton steps inside its basin."""
        objective = self.problem.reverse_kl(self.family)
        near = descend(objective, self._base[self.case], *self._parameters, steps=self.config.ascent_steps)
        end = minimise(objective, self.family.frame, near, *self._parameters, radius=RADIUS)
        return self._reverse_kl_lines(end.theta, "ascent")

    @cached_property
    def _rising(self) -> Float[np.ndarray, "stages cases"]:
        """The lambdas of annealing from 0 to each strength and on to the next."""
        ends = np.concatenate([np.zeros((self.problem.cases, 1)), self.strengths], axis=1)
        stages = self.config.stages
        share = np.arange(1, stages + 1) / stages
        rising = ends[:, :-1, None] + np.diff(ends)[..., None] * share
        return rising.reshape(self.problem.cases, -1).T

    @cached_property
    def _annealed(self) -> Float[Tensor, "stages cases size"]:
        return follow(self.problem, self.family, self._base, self._rising)

    def annealed_lines(self) -> list[Row]:
        """Where warm starts lead, lambda rising from the base."""
        # Of the stages, those that end at a strength, base by base.
        stages = self.config.stages
        reached = self._annealed[stages - 1 :: stages].transpose(0, 1).flatten(0, 1)
        return self._reverse_kl_lines(reached, "annealing")

    def covering_lines(self, alphas: Sequence[float]) -> list[Row]:
        """Forward KL to p_* in closed form, and the global minima of alpha-divergences to it."""
        projection = projected(self.problem, self.family).flatten(-2)
        lines = self._lines(projection, "forward_kl", "closed form")
        for alpha in alphas:
            found = self._global(self.problem.alpha(self.family, alpha), self._every, self._bases)
            lines += extended(
                self._lines(found.theta, "alpha", "global"),
                alpha=alpha,
                value=found.value.tolist(),
                certificate=found.certificates(),
            )
        return lines

    def reward_lines(self) -> list[Row]:
        """Plain ascent of E[v] from the base, whose supremum no policy attains."""
        reward, steps = self.problem.reward(self.family), self.config.ascent_steps
        end = descend(reward, self._base, self._bases, steps=steps)
        return self._lines(end, "reward", "ascent")

    def _lines(self, theta: Tensor, objective: str, method: str) -> list[Row]:
        """A policy for every base, measured."""
        measured = measure(self.problem, self.family, theta, self._every)
        return extended(measured, objective=objective, method=method)

    def leaps(self) -> list[Row]:
        """For one base: neighbouring strengths between which validity leaps, and where it jumps, if it does.

        At `jump` two minima have one value; both exist between `high_from` and `low_until`, where what an
        optimiser finds depends on where it comes from. Without a jump one minimum moves steeply.
        """
        found, strengths = self.optima.theta, self.strengths[0].tolist()
        validity = [line["validity"] for line in measure(self.problem, self.family, found, self.case)]
        leaps, search = [], (0.0, strengths[-1])
        for i in range(len(strengths) - 1):
            if validity[i + 1] - validity[i] > LEAP:
                low, high = (strengths[i], found[i]), (strengths[i + 1], found[i + 1])
                jump = find_jump(self.problem, self.family, low, high, search=search)
                leap: Row = {"family": self.family.name, "below": low[0], "above": high[0]}
                if jump is not None:
                    leap |= {"jump": jump.strength, "high_from": jump.high_from, "low_until": jump.low_until}
                leaps.append(leap)
        return leaps

    def _reverse_kl_lines(self, theta: Tensor, method: str) -> list[Row]:
        """Policies with the `value` of the objective, and how far `above` the global minimum it lies.

        It `is_global` where that is rounding (SAME).
        """
        value = self.problem.reverse_kl(self.family)(theta, *self._parameters)
        above = value - self.optima.value
        return extended(
            measure(self.problem, self.family, theta, self.case),
            objective="reverse_kl",
            method=method,
            inverse_beta=self.strengths.ravel().tolist(),
            value=value.tolist(),
            above=above.tolist(),
            is_global=(above <= SAME * (1 + value.abs())).tolist(),
        )


STAGE = "families fitted"


def run(
    config: Config | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    problem: CollapseProblem | None = None,
) -> dict[str, Any]:
    """Fit everything, and return the record of it.

    Given a problem, of one base, only that is fitted, in place of the reference case.
    """
    config, given = config or Config(), {}
    if problem is None:
        with one_thread():
            results = _results(config, np.random.default_rng(seed), progress)
    else:
        results = {"reference": fits(problem, config, seed=seed, progress=progress), "random": []}
        automaton = problem.automaton
        given["problem"] = {
            "alphabet": "".join(automaton.alphabet),
            "transitions": automaton.transitions.tolist(),
            "accepting": automaton.accepting.tolist(),
        }
    return record(
        KIND,
        seed=seed,
        config=asdict(config) | given,
        results=results,
        findings=findings(results),
        packages=("numpy", "scipy", "torch"),
    )


def fits(
    problem: CollapseProblem, config: Config | None = None, *, seed: int = 0, progress: Progress | None = None
) -> dict[str, Any]:
    """Every fit to a problem of one base, in both families of bigrams: rows of "fits", and "leaps".

    Of the configuration's targets only those above the base's pass rate are tried.
    """
    if problem.cases != 1:
        raise argument_error("problem.cases", problem.cases, "one base")
    with one_thread():
        families = _families(problem, _counter(2, progress or silent))
        return _reference(problem, families, config or Config(), np.random.default_rng(seed))


def _results(config: Config, rng: np.random.Generator, progress: Progress | None) -> dict[str, Any]:
    first, *others = reference(), random_brackets(config.cases, rng), random_counts(config.cases, rng)
    fitted = _counter(2 * (1 + len(others)), progress or silent)
    return {
        "reference": _reference(first, _families(first, fitted), config, rng),
        "random": [_random(problem, _families(problem, fitted), config, rng) for problem in others],
    }


def _counter(total: int, progress: Progress) -> Callable[[], None]:
    """Says at every call how many families are fitted, 0 at once."""
    done = count()

    def fitted() -> None:
        progress(STAGE, next(done), total)

    fitted()
    return fitted


def _families(problem: CollapseProblem, fitted: Callable[[], None]) -> Iterator[Bigrams]:
    for homogeneous in (True, False):
        yield problem.family(homogeneous=homogeneous)
        fitted()


def _reference(
    problem: CollapseProblem, families: Iterable[Bigrams], config: Config, rng: np.random.Generator
) -> dict[str, Any]:
    wanted = [mu for mu in config.targets if mu > problem.base_rates[0]]
    aims = 1 / beta_from_mu(problem.base_rates[0], np.array(wanted))
    strengths = np.unique([*config.strengths, *aims])
    mus = dict(zip(aims.tolist(), wanted, strict=True))
    lines: list[Row] = []
    leaps: list[Row] = []
    for family in families:
        found = Fits(problem, family, strengths[None], rng, config.starts, config)
        lines += found.lines([mus.get(strength) for strength in strengths.tolist()], config.alphas)
        leaps += found.leaps()
    (target,) = targets(problem)
    return _described(problem) | {"target": target, "fits": lines, "leaps": leaps}


def _random(
    problem: CollapseProblem, families: Iterable[Bigrams], config: Config, rng: np.random.Generator
) -> dict[str, Any]:
    # One target is a different 1/beta for every base.
    mus = sorted(config.random_targets)
    strengths = 1 / beta_from_mu(problem.base_rates[:, None], np.array(mus))
    lines: list[Row] = []
    for family in families:
        found = Fits(problem, family, strengths, rng, config.random_starts, config)
        lines += found.lines(mus, config.random_alphas)
    return _described(problem) | {"rates": rates(lines, targets(problem))}


def _described(problem: CollapseProblem) -> dict[str, Any]:
    return {
        "name": problem.name,
        "length": problem.length,
        "words": problem.automaton.symbols**problem.length,
        "valid_words": len(problem.valid_words),
    }
