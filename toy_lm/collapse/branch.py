"""Minima followed as lambda = 1/beta changes: annealing, and where another minimum becomes the global one."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import brentq
from torch import Tensor

from dph_theory.support.errors import argument_error

from ..engine.exact import validity
from .family import Bigrams
from .newton import Minima, minimise
from .problem import Problem

RADIUS = 0.5
"""Warm starts move no logit by more than this in a step, so as to stay in their basin."""
RESOLUTION = 1e-3
"""How closely the ends of a branch are bisected."""
APART = 1e-2
"""Branches that overlap by less than this in lambda are one, which the bisections met at two points."""


class Jump(NamedTuple):
    """A first-order jump of the global minimum: at `strength` two minima, low and high, have the same value.

    They are named by their validities. Followed in lambda, the high branch exists from `high_from` on, the
    low one until `low_until` (or further, if that is the end of the search), both to RESOLUTION: between
    these, what an optimiser finds depends on where it comes from.
    """

    strength: float
    value: float
    low: Float[Tensor, " size"]
    high: Float[Tensor, " size"]
    high_from: float
    low_until: float


def follow(
    problem: Problem,
    family: Bigrams,
    start: Float[Tensor, "rows size"],
    strengths: Float[np.ndarray, "stages rows"],
) -> Float[Tensor, "stages rows size"]:
    """Annealing: minimise KL(pi||a) - lambda V(pi) at one lambda after another, from where the last ended.

    Row i is about base i; ValueError unless there is a row for every base.
    """
    if not len(start) == problem.cases == strengths.shape[-1]:
        raise argument_error("start.shape", tuple(start.shape), f"{problem.cases} rows, one for each base")
    tables = problem.tables(np.arange(problem.cases))
    stages, theta = [], start
    for strength in torch.from_numpy(strengths):
        found = minimise(problem.reverse_kl(family), family.frame, theta, *tables, strength, radius=RADIUS)
        theta = found.theta
        stages.append(theta)
    return torch.stack(stages)


@dataclass(frozen=True)
class _Branch:
    """A minimum at one lambda of a problem with one base, and what it becomes at others."""

    problem: Problem
    family: Bigrams
    theta: Float[Tensor, " size"]
    strength: float

    def at(self, strength: float) -> Minima:
        objective, tables = self.problem.reverse_kl(self.family), self.problem.tables(np.zeros(1, dtype=int))
        goal = torch.tensor([strength], dtype=torch.float64)
        return minimise(objective, self.family.frame, self.theta[None], *tables, goal, radius=RADIUS)

    def moved(self, strength: float) -> "_Branch":
        return _Branch(self.problem, self.family, self.at(strength).theta[0], strength)

    def validity(self) -> float:
        policy = self.family.policy(self.theta)
        return float(validity(policy, self.problem.automaton, self.problem.length))

    def end(self, outside: float, middle: float) -> "_Branch":
        """The last minimum towards `outside` before its validity crosses `middle`, by bisection."""
        here, low = self, self.validity() < middle
        while abs(outside - here.strength) > RESOLUTION:
            ahead = here.moved((here.strength + outside) / 2)
            if (ahead.validity() < middle) == low:
                here = ahead
            else:
                outside = ahead.strength
        return here


def find_jump(
    problem: Problem,
    family: Bigrams,
    low: tuple[float, Float[Tensor, " size"]],
    high: tuple[float, Float[Tensor, " size"]],
    *,
    search: tuple[float, float],
) -> Jump | None:
    """The lambda at which the global minimum passes from one of two, (lambda, theta), to the other; one base.

    low has the smaller lambda and validity. Each is followed past the other, within `search` = (least,
    greatest) lambda, until its validity crosses the mean of theirs. If both do so at one lambda there is a
    single branch that moves steeply, nothing jumps, and the answer is None; else the root of the difference
    of their values is found where both exist (Brent's method). Raises ValueError for several bases, or minima
    not so ordered.
    """
    if problem.cases != 1:
        raise argument_error("problem.cases", problem.cases, "one base only")
    below, above = (_Branch(problem, family, theta, strength) for strength, theta in (low, high))
    if not (search[0] <= low[0] < high[0] <= search[1] and below.validity() < above.validity()):
        raise argument_error(
            "low", low[0], f"in {search}, and of smaller lambda and validity than high, {high[0]}"
        )
    middle = (below.validity() + above.validity()) / 2
    low_end, high_end = below.end(search[1], middle), above.end(search[0], middle)
    if low_end.strength - high_end.strength < APART:
        return None

    def lead(strength: float) -> float:
        return float(below.at(strength).value - above.at(strength).value)

    # Within what both ends allow, and no further from where they are known than need be.
    root = brentq(lead, max(high_end.strength, low[0]), min(low_end.strength, high[0]), xtol=1e-12)
    low_there, high_there = below.at(root), above.at(root)
    return Jump(
        strength=root,
        value=float(low_there.value),
        low=low_there.theta[0],
        high=high_there.theta[0],
        high_from=high_end.strength,
        low_until=low_end.strength,
    )
