"""The collapse experiment: every fit of the reference case, and rates of collapse over random bases."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dph_theory import beta_from_mu
from dph_theory.numeric.arrays import integers
from dph_theory.support.errors import argument_error
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import record

from ..grid import Row, run_grid
from ..threads import one_thread
from .family import Bigrams
from .measure import measure, rates, targets
from .optimum import SAME, Optimum, best_dirac, confirmed_minimum, projected, random_points, starting_points
from .problem import CollapseProblem, Objective, random_brackets, random_counts, reference
from .results import KIND, CollapseConfig, extended, findings
from .search import RADIUS, descend, find_jump, follow, minimise

LEAP = 0.3  # Neighbouring lambdas with a larger difference in pass rate are searched for a jump.


@dataclass(frozen=True, eq=False)
class Fits:
    """All fits to a problem in a family.

    strengths are the lambdas = 1/beta of the reverse-KL fits, increasing along a row. A global minimum is
    sought from `starts` random starts at each scale and from the special starts; `config` has the rest.
    """

    problem: CollapseProblem
    family: Bigrams
    strengths: Float[np.ndarray, "cases settings"]
    rng: np.random.Generator
    starts: int
    config: CollapseConfig

    def lines(self, mus: Sequence[float | None], alphas: Sequence[float]) -> list[Row]:
        """Rows of every fit: reverse KL per strength (`mus`: its targets), then other objectives."""
        reverse = [*self.global_lines(), *self.ascent_lines(), *self.annealed_lines()]
        aimed = extended(reverse, mu=[*mus] * (3 * self.problem.cases))
        return [*aimed, *self.covering_lines(alphas), *self.reward_lines()]

    @cached_property
    def case(self) -> np.ndarray:
        """Index of the base of each reverse-KL fit, strengths varying fastest."""
        return np.repeat(self._every, self.strengths.shape[1])

    @cached_property
    def _every(self) -> np.ndarray:
        return np.arange(self.problem.cases)

    @cached_property
    def _bases(self) -> Tensor:
        return self.problem.rows(self.family)

    @cached_property
    def _parameters(self) -> tuple[Tensor, ...]:
        return self._bases[self.case], torch.from_numpy(self.strengths.ravel())

    @cached_property
    def _points(self) -> Float[Tensor, "cases starts size"]:
        return starting_points(self.problem, self.family, self.starts, self.rng)

    @cached_property
    def optima(self) -> Optimum:
        """Global minima of KL(pi||p_b), one row per base and strength."""
        return self._global(self.problem.reverse_kl(self.family), self.case, *self._parameters)

    def _global(self, objective: Objective, case: np.ndarray, *parameters: Tensor) -> Optimum:
        dirac, family = best_dirac(self.problem, self.family), self.family
        fresh = partial(random_points, family, self.starts, self.rng)
        points = self._points[case]
        return confirmed_minimum(
            objective, family, points, dirac[case], *parameters, fresh=fresh, rounds=self.config.rounds
        )

    def global_lines(self) -> list[Row]:
        """Rows of the global minima with their certificates."""
        lines = self._reverse_kl_lines(self.optima.theta, "global")
        return extended(lines, certificate=self.optima.certificates())

    def ascent_lines(self) -> list[Row]:
        """Rows of gradient ascent on the reverse KL from the base, finished by Newton steps in its basin."""
        objective, start = self.problem.reverse_kl(self.family), self._bases[self.case].flatten(-2)
        near = descend(objective, start, *self._parameters, steps=self.config.ascent_steps)
        end = minimise(objective, self.family.frame, near, *self._parameters, radius=RADIUS)
        return self._reverse_kl_lines(end.theta, "ascent")

    def annealed_lines(self) -> list[Row]:
        """Rows of warm starts: lambda increases from 0, at the base, from each strength to the next."""
        cases, stages = self.problem.cases, self.config.stages
        ends = np.concatenate([np.zeros((cases, 1)), self.strengths], axis=1)
        rising = ends[:, :-1, None] + np.diff(ends)[..., None] * (np.arange(1, stages + 1) / stages)
        rising = rising.reshape(cases, -1).T
        reached = follow(self.problem, self.family, self._bases.flatten(-2), rising)
        # Only the stages that end at a strength, base by base.
        at_strengths = reached[stages - 1 :: stages].transpose(0, 1).flatten(0, 1)
        return self._reverse_kl_lines(at_strengths, "annealing")

    def covering_lines(self, alphas: Sequence[float]) -> list[Row]:
        """Rows of the forward KL to p_* (closed form) and global minima of alpha-divergences to p_*."""
        projection = projected(self.problem, self.family).flatten(-2)
        lines = self._lines(projection, "forward_kl", "closed form")
        for alpha in alphas:
            optimum = self._global(self.problem.alpha(self.family, alpha), self._every, self._bases)
            more = {"value": optimum.value.tolist(), "certificate": optimum.certificates()}
            lines += extended(self._lines(optimum.theta, "alpha", "global"), alpha=alpha, **more)
        return lines

    def reward_lines(self) -> list[Row]:
        """Rows of plain ascent of E[v] from the base, whose supremum no policy attains."""
        reward, steps = self.problem.reward(self.family), self.config.ascent_steps
        end = descend(reward, self._bases.flatten(-2), self._bases, steps=steps)
        return self._lines(end, "reward", "ascent")

    def _lines(self, theta: Tensor, objective: str, method: str) -> list[Row]:
        measured = measure(self.problem, self.family, theta, self._every)
        return extended(measured, objective=objective, method=method)

    def leaps(self) -> list[Row]:
        """Neighbouring strengths of one base between which the pass rate leaps, and the lambda of any jump.

        At `jump` two minima have equal value; both exist between `high_from` and `low_until`, where an
        optimiser's result depends on its start. Without a jump one minimum moves steeply.
        """
        minima, strengths = self.optima.theta, self.strengths[0].tolist()
        pass_rate = [line["pass_rate"] for line in measure(self.problem, self.family, minima, self.case)]
        leaps, search = [], (0.0, strengths[-1])
        for i in range(len(strengths) - 1):
            if pass_rate[i + 1] - pass_rate[i] > LEAP:
                low, high = (strengths[i], minima[i]), (strengths[i + 1], minima[i + 1])
                leap: Row = {"family": self.family.name, "below": low[0], "above": high[0]}
                leaps.append(leap | find_jump(self.problem, self.family, low, high, search=search))
        return leaps

    def _reverse_kl_lines(self, theta: Tensor, method: str) -> list[Row]:
        """Rows of policies with `value`, the objective, and `above`, its distance to the global minimum."""
        # `is_global` holds if that distance is rounding (SAME).
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
    config: CollapseConfig | None = None,
    *,
    seed: int = 0,
    progress: Progress = silent,
    problem: CollapseProblem | None = None,
) -> dict[str, Any]:
    """Fit everything, and return the record. A given problem, of one base, replaces the reference case."""
    integers("seed", seed, at_least=0)
    config, rng, own_problem = config or CollapseConfig(), np.random.default_rng(seed), {}
    if problem is None:
        problems = [reference(), random_brackets(config.cases, rng), random_counts(config.cases, rng)]
        first, *random_problems = _fitted(problems, config, rng, progress)
    else:
        first, random_problems = fits(problem, config, seed=seed, progress=progress), []
        automaton = problem.automaton
        own_problem["problem"] = {
            "alphabet": "".join(automaton.alphabet),
            "transitions": automaton.transitions.tolist(),
            "accepting": automaton.accepting.tolist(),
        }
    results = {"reference": first, "random": random_problems}
    settings, packages = asdict(config) | own_problem, ("numpy", "scipy", "torch")
    sentences = findings(results)
    return record(KIND, seed=seed, config=settings, results=results, findings=sentences, packages=packages)


def fits(
    problem: CollapseProblem,
    config: CollapseConfig | None = None,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Row:
    """Fit a problem of one base in both families of bigrams; returns rows of "fits", and "leaps".

    Only the configuration's targets above the base's pass rate are used.
    """
    if problem.cases != 1:
        raise argument_error("problem.cases", problem.cases, "one base")
    (fitted,) = _fitted([problem], config or CollapseConfig(), np.random.default_rng(seed), progress)
    return fitted


def _fitted(
    problems: Sequence[CollapseProblem], config: CollapseConfig, rng: np.random.Generator, progress: Progress
) -> list[Row]:
    """Fit each problem in both families: every fit for the first, only rates of collapse for the others."""

    def fitted(job: tuple[CollapseProblem, bool]) -> Row:
        problem, homogeneous = job
        family, first = problem.family(homogeneous=homogeneous), problem is problems[0]
        strengths, mus = _strengths(problem, config, first)
        fits = Fits(problem, family, strengths, rng, config.starts if first else config.random_starts, config)
        lines = fits.lines(mus, config.alphas if first else config.random_alphas)
        return {"fits": lines, "leaps": fits.leaps() if first else []}

    jobs = [(problem, homogeneous) for problem in problems for homogeneous in (True, False)]
    with one_thread():
        families = run_grid(fitted, jobs, done=partial(progress, STAGE))
    rows: list[Row] = []
    for problem, *both in zip(problems, families[::2], families[1::2], strict=True):
        row = {"name": problem.name, "length": problem.length}
        row |= {"words": problem.automaton.symbols**problem.length, "valid_words": len(problem.valid_words)}
        lines = {name: [line for family in both for line in family[name]] for name in ("fits", "leaps")}
        if rows:
            row["rates"] = rates(lines["fits"], targets(problem))
        else:
            (row["target"],) = targets(problem)
            row |= lines
        rows.append(row)
    return rows


def _strengths(
    problem: CollapseProblem, config: CollapseConfig, first: bool
) -> tuple[Float[np.ndarray, "cases settings"], list[float | None]]:
    """Lambda = 1/beta of every base and setting, and the target pass rate mu of each setting or None."""
    if not first:
        # One target is a different 1/beta for every base.
        sorted_mus = sorted(config.random_targets)
        return 1 / beta_from_mu(problem.base_rates[:, None], np.array(sorted_mus)), [*sorted_mus]
    reachable = [mu for mu in config.targets if mu > problem.base_rates[0]]
    aims = 1 / beta_from_mu(problem.base_rates[0], np.array(reachable))
    strengths = np.unique([*config.strengths, *aims])
    named = dict(zip(aims.tolist(), reachable, strict=True))
    return strengths[None], [named.get(strength) for strength in strengths.tolist()]
