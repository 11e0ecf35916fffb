"""The fits of one problem in one family: what each objective selects, and each way of optimising reaches.

Every fit is a line: the measures of the policy, with objective, method and setting (lambda or alpha).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from .ascent import Path, descend
from .branch import RADIUS, Jump, find_jump, follow
from .family import Bigrams
from .measure import Row, measure
from .newton import minimise
from .optimum import SAME, Optimum, best_dirac, global_minimum, projected
from .problem import Problem

LEAP = 0.3
"""Neighbouring lambdas between which validity grows by more are searched for a jump."""


@dataclass(frozen=True, eq=False)
class Fits:
    """Everything fitted to a problem in a family, from given starts.

    strengths are the lambdas = 1/beta of the reverse-KL fits, increasing along a row; gradient ascent takes
    `ascent_steps`, and annealing goes from 0 to the first strength, and on to each next, in `stages` steps.
    """

    problem: Problem
    family: Bigrams
    starts: Float[Tensor, "cases starts size"]
    strengths: Float[np.ndarray, "cases settings"]
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
        dirac = best_dirac(self.problem, self.family)[self.case]
        starts, objective = self.starts[self.case], self.problem.reverse_kl(self.family)
        return global_minimum(objective, self.family, starts, dirac, *self._parameters)

    def global_lines(self) -> list[Row]:
        """The global minima with their certificates."""
        lines = self._reverse_kl_lines(self.optima.theta, "global")
        return [line | {"certificate": c} for line, c in zip(lines, self.optima.certificates(), strict=True)]

    def ascent_lines(self) -> tuple[list[Row], list[Row]]:
        """Gradient ascent from the base, finished by Newton steps inside its basin; and the way there."""
        objective = self.problem.reverse_kl(self.family)
        path = descend(objective, self._base[self.case], *self._parameters, steps=self.ascent_steps)
        end = minimise(objective, self.family.frame, path.theta[-1], *self._parameters, radius=RADIUS)
        settings = [{"objective": "reverse_kl", "lambda": x} for x in self.strengths.ravel().tolist()]
        return self._reverse_kl_lines(end.theta, "ascent"), self._path_lines(path, self.case, settings)

    def annealed_lines(self) -> tuple[list[Row], list[Row]]:
        """Where warm starts lead, lambda rising from the base; and every stage, rising and falling again."""
        ends = np.concatenate([np.zeros((self.problem.cases, 1)), self.strengths], axis=1)
        share = np.arange(1, self.stages + 1) / self.stages
        rising = ends[:, :-1, None] + np.diff(ends)[..., None] * share
        rising = rising.reshape(self.problem.cases, -1).T
        up = follow(self.problem, self.family, self._base, rising)
        top = self.optima.theta.unflatten(0, self.strengths.shape)[:, -1]
        down = follow(self.problem, self.family, top, rising[::-1].copy())
        # Of the stages, those that end at a strength, base by base.
        reached = up[self.stages - 1 :: self.stages].transpose(0, 1).flatten(0, 1)
        branches = self._branch_lines(up, rising, "rising") + self._branch_lines(
            down, rising[::-1], "falling"
        )
        return self._reverse_kl_lines(reached, "annealing"), branches

    def covering_lines(self, alphas: Sequence[float]) -> list[Row]:
        """Forward KL to p_* in closed form, and the global minima of alpha-divergences to it."""
        projection = measure(
            self.problem, self.family, projected(self.problem, self.family).flatten(-2), self._every
        )
        lines = [line | {"objective": "forward_kl", "method": "closed form"} for line in projection]
        dirac, tables = best_dirac(self.problem, self.family), self.problem.tables(self._every)
        for alpha in alphas:
            objective = self.problem.alpha(self.family, alpha)
            found = global_minimum(objective, self.family, self.starts, dirac, *tables)
            measured = measure(self.problem, self.family, found.theta, self._every)
            for line, certificate in zip(measured, found.certificates(), strict=True):
                setting = {"objective": "alpha", "alpha": alpha, "method": "global"}
                lines.append(line | setting | {"value": certificate["value"], "certificate": certificate})
        return lines

    def reward_lines(self) -> tuple[list[Row], list[Row]]:
        """Plain ascent of E[v] from the base, whose supremum no policy attains; and the way there."""
        objective, tables = self.problem.reward(self.family), self.problem.tables(self._every)
        path = descend(objective, self._base, *tables, steps=self.ascent_steps)
        lines = measure(self.problem, self.family, path.theta[-1], self._every)
        setting = {"objective": "reward", "method": "ascent"}
        return [x | setting for x in lines], self._path_lines(path, self._every, [setting] * len(self._every))

    def leaps(self) -> list[tuple[float, float, Jump | None]]:
        """For a problem with one base: the pairs of strengths across which validity leaps, and the jump
        if any.
        """
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
        lines = []
        for step, time, theta in zip(path.step.tolist(), path.time.tolist(), path.theta, strict=True):
            here = measure(self.problem, self.family, theta, case)
            for line, at, setting in zip(here, time, settings, strict=True):
                lines.append(line | setting | {"step": step, "time": at})
        return lines

    def _branch_lines(self, thetas: Tensor, strengths: np.ndarray, direction: str) -> list[Row]:
        lines = []
        for theta, row in zip(thetas, strengths, strict=True):
            here = measure(self.problem, self.family, theta, self._every)
            lines += [
                x | {"lambda": s, "direction": direction} for x, s in zip(here, row.tolist(), strict=True)
            ]
        return lines
