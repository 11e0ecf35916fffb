"""The fits of one problem in one family: what each objective selects, and each way of optimising reaches.

Every fit is a line: the measures of the policy, with objective, method and setting (lambda or alpha).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from .ascent import Path, descend
from .branch import RADIUS, Jump, find_jump, follow
from .family import Bigrams
from .measure import Row, measure
from .newton import Objective, minimise
from .optimum import SAME, Optimum, best_dirac, confirmed_minimum, projected, random_points, starting_points
from .problem import Problem

LEAP = 0.3
"""Neighbouring lambdas between which validity grows by more are searched for a jump."""

REWARD = {"objective": "reward", "method": "ascent"}


@dataclass(frozen=True, eq=False)
class Fits:
    """Everything fitted to a problem in a family.

    strengths are the lambdas = 1/beta of the reverse-KL fits, increasing along a row. A global minimum is
    sought from `starts` random starts at each scale and the special ones, and where few of them agree from
    as many again, at most `rounds` times. Gradient ascent takes `ascent_steps`, and annealing goes from 0 to
    the first strength, and on to each next, in `stages` steps.
    """

    problem: Problem
    family: Bigrams
    strengths: Float[np.ndarray, "cases settings"]
    rng: np.random.Generator
    starts: int
    rounds: int
    ascent_steps: int
    stages: int

    @cached_property
    def case(self) -> np.ndarray:
        """The base that each reverse-KL fit is about, strengths varying fastest."""
        return np.repeat(np.arange(self.problem.cases), self.strengths.shape[1])

    @cached_property
    def _parameters(self) -> tuple[Tensor, ...]:
        return (*self.problem.tables(self.case), torch.from_numpy(self.strengths.ravel()))

    @cached_property
    def _every(self) -> np.ndarray:
        return np.arange(self.problem.cases)

    @cached_property
    def _base(self) -> Tensor:
        return self.family.tables(self.problem.bases).flatten(-2)

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
            objective, family, points, dirac[case], *parameters, fresh=fresh, rounds=self.rounds
        )

    def global_lines(self) -> list[Row]:
        """The global minima with their certificates."""
        lines = self._reverse_kl_lines(self.optima.theta, "global")
        return [line | {"certificate": c} for line, c in zip(lines, self.optima.certificates(), strict=True)]

    @cached_property
    def _ascent(self) -> Path:
        objective = self.problem.reverse_kl(self.family)
        return descend(objective, self._base[self.case], *self._parameters, steps=self.ascent_steps)

    def ascent_lines(self) -> list[Row]:
        """Gradient ascent from the base, finished by Newton steps inside its basin."""
        objective, last = self.problem.reverse_kl(self.family), self._ascent.theta[-1]
        end = minimise(objective, self.family.frame, last, *self._parameters, radius=RADIUS)
        return self._reverse_kl_lines(end.theta, "ascent")

    def ascent_paths(self) -> list[Row]:
        """The way of gradient ascent from the base."""
        settings = [{"objective": "reverse_kl", "lambda": x} for x in self.strengths.ravel().tolist()]
        return self._path_lines(self._ascent, self.case, settings)

    @cached_property
    def _rising(self) -> Float[np.ndarray, "stages cases"]:
        """The lambdas of annealing from 0 to each strength and on to the next."""
        ends = np.concatenate([np.zeros((self.problem.cases, 1)), self.strengths], axis=1)
        share = np.arange(1, self.stages + 1) / self.stages
        rising = ends[:, :-1, None] + np.diff(ends)[..., None] * share
        return rising.reshape(self.problem.cases, -1).T

    @cached_property
    def _annealed(self) -> Float[Tensor, "stages cases size"]:
        return follow(self.problem, self.family, self._base, self._rising)

    def annealed_lines(self) -> list[Row]:
        """Where warm starts lead, lambda rising from the base."""
        # Of the stages, those that end at a strength, base by base.
        reached = self._annealed[self.stages - 1 :: self.stages].transpose(0, 1).flatten(0, 1)
        return self._reverse_kl_lines(reached, "annealing")

    def branch_lines(self) -> list[Row]:
        """Every stage of annealing, lambda rising from the base, and falling from the last minimum."""
        top = self.optima.theta.unflatten(0, self.strengths.shape)[:, -1]
        falling = self._rising[::-1].copy()
        down = follow(self.problem, self.family, top, falling)
        return [
            *self._branch_lines(self._annealed, self._rising, "rising"),
            *self._branch_lines(down, falling, "falling"),
        ]

    def covering_lines(self, alphas: Sequence[float]) -> list[Row]:
        """Forward KL to p_* in closed form, and the global minima of alpha-divergences to it."""
        projection = measure(
            self.problem, self.family, projected(self.problem, self.family).flatten(-2), self._every
        )
        lines = [line | {"objective": "forward_kl", "method": "closed form"} for line in projection]
        tables = self.problem.tables(self._every)
        for alpha in alphas:
            found = self._global(self.problem.alpha(self.family, alpha), self._every, *tables)
            measured = measure(self.problem, self.family, found.theta, self._every)
            for line, certificate in zip(measured, found.certificates(), strict=True):
                setting = {"objective": "alpha", "alpha": alpha, "method": "global"}
                lines.append(line | setting | {"value": certificate["value"], "certificate": certificate})
        return lines

    @cached_property
    def _reward(self) -> Path:
        tables = self.problem.tables(self._every)
        return descend(self.problem.reward(self.family), self._base, *tables, steps=self.ascent_steps)

    def reward_lines(self) -> list[Row]:
        """Plain ascent of E[v] from the base, whose supremum no policy attains."""
        lines = measure(self.problem, self.family, self._reward.theta[-1], self._every)
        return [line | REWARD for line in lines]

    def reward_paths(self) -> list[Row]:
        """The way of plain ascent of E[v]."""
        return self._path_lines(self._reward, self._every, [REWARD] * len(self._every))

    def leaps(self) -> list[tuple[float, float, Jump | None]]:
        """For one base: the pairs of strengths across which validity leaps, and the jump, if it is one."""
        found, strengths = self.optima.theta, self.strengths[0]
        validity = [line["validity"] for line in measure(self.problem, self.family, found, self.case)]
        search = (0.0, float(strengths[-1]))
        pairs = [
            ((float(strengths[i]), found[i]), (float(strengths[i + 1]), found[i + 1]))
            for i in range(len(strengths) - 1)
            if validity[i + 1] - validity[i] > LEAP
        ]
        return [
            (low[0], high[0], find_jump(self.problem, self.family, low, high, search=search))
            for low, high in pairs
        ]

    def _reverse_kl_lines(self, theta: Tensor, method: str) -> list[Row]:
        """The value of each is counted from the global minimum: above by more than SAME means missed."""
        value = self.problem.reverse_kl(self.family)(theta, *self._parameters)
        above = value - self.optima.value
        return [
            line
            | {"objective": "reverse_kl", "method": method, "lambda": strength, "value": at, "above": more}
            | {"is_global": more <= SAME * (1 + abs(at))}
            for line, strength, at, more in zip(
                measure(self.problem, self.family, theta, self.case),
                self.strengths.ravel().tolist(),
                value.tolist(),
                above.tolist(),
                strict=True,
            )
        ]

    def _path_lines(self, path: Path, case: np.ndarray, settings: Sequence[dict[str, Any]]) -> list[Row]:
        steps = np.repeat(path.step.tolist(), len(case)).tolist()
        times, every = path.time.flatten().tolist(), list(settings) * len(path.step)
        lines = measure(self.problem, self.family, path.theta.flatten(0, 1), np.tile(case, len(path.step)))
        return [
            line | setting | {"step": step, "time": time}
            for line, setting, step, time in zip(lines, every, steps, times, strict=True)
        ]

    def _branch_lines(self, thetas: Tensor, strengths: np.ndarray, direction: str) -> list[Row]:
        lines = measure(self.problem, self.family, thetas.flatten(0, 1), np.tile(self._every, len(thetas)))
        return [
            line | {"lambda": strength, "direction": direction}
            for line, strength in zip(lines, strengths.ravel().tolist(), strict=True)
        ]
