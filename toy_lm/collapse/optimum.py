"""Global minima by many starts, each with evidence that it is global: agreement, gap, curvature, Diracs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dph_theory.support.errors import argument_error

from ..grid import Row
from .family import Bigrams
from .problem import CollapseProblem, Objective
from .results import ENOUGH
from .search import minimise

SAME = 1e-8
"""Values that differ by less than this times 1 + |value| count as one optimum."""
ON_THE_BOUNDARY = 1e-11
"""A policy must beat the best Dirac by more than this times 1 + |value|, else the infimum is the Dirac's."""
SCALES = (0.5, 2.0, 4.0, 6.0)
"""Standard deviations of the random starts' logits, from nearly uniform to nearly deterministic."""
SOFTENING = 1e-3
"""Share of the uniform policy in the start at the M-projection, because logits cannot leave its zeros."""


class Optimum(NamedTuple):
    """Best minimum of each row, with its certificate.

    `agree` of `starts` minimisations ended within SAME of it, `unconverged` found no minimum, and the next
    minimum lies `gap` above (inf if there was none). `curvature` is the smallest eigenvalue of the Hessian in
    units of the Fisher metric. `dirac` is the value of the family's best valid Dirac; on the `boundary` no
    policy with positive probabilities was better, and theta is the Dirac itself.
    """

    theta: Float[Tensor, "rows size"]
    value: Float[Tensor, " rows"]
    starts: Int[Tensor, " rows"]
    agree: Int[Tensor, " rows"]
    unconverged: Int[Tensor, " rows"]
    gap: Float[Tensor, " rows"]
    gradient_norm: Float[Tensor, " rows"]
    curvature: Float[Tensor, " rows"]
    dirac: Float[Tensor, " rows"]
    boundary: Bool[Tensor, " rows"]

    def certificates(self) -> list[Row]:
        """Certificates of each row's minimum: every field except theta and value, one dictionary per row."""
        columns = {n: column.tolist() for n, column in self._asdict().items() if n not in ("theta", "value")}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def joined(self, other: "Optimum") -> "Optimum":
        """Combine two searches for the same minima: the better result, with the certificates of both."""
        ahead, room = self.value - other.value, SAME * (1 + self.value.abs())
        better, same = ahead > room, ahead.abs() <= room
        best = {
            name: torch.where(better[:, None] if name == "theta" else better, theirs, ours)
            for name, ours, theirs in zip(self._fields, self, other, strict=True)
        }
        # If the results differ, the worse one is a minimum above the better one.
        gap = torch.minimum(best["gap"], torch.where(same, torch.minimum(self.gap, other.gap), ahead.abs()))
        agree = torch.where(same, self.agree + other.agree, best["agree"])
        starts, unconverged = self.starts + other.starts, self.unconverged + other.unconverged
        return Optimum(**best | {"agree": agree, "starts": starts, "unconverged": unconverged, "gap": gap})


def starting_points(
    problem: CollapseProblem, family: Bigrams, count: int, rng: np.random.Generator
) -> Float[Tensor, "cases starts size"]:
    """Starts: `count` random ones at each of SCALES, the base, p_*'s M-projection, near the best Dirac.

    The random starts are shared by all bases.
    """
    random = random_points(family, count, rng)
    projection = projected(problem, family).exp()
    soft = ((1 - SOFTENING) * projection + SOFTENING / family.vocabulary).log()
    special = [problem.rows(family).flatten(-2), soft.flatten(-2), best_dirac(problem, family, 6.0)]
    return torch.cat([random.expand(problem.cases, -1, -1), torch.stack(special, dim=1)], dim=1)


def random_points(family: Bigrams, count: int, rng: np.random.Generator) -> Float[Tensor, "starts size"]:
    """Random logit vectors (len(SCALES) * count, size): normal, with standard deviations in SCALES."""
    drawn = torch.from_numpy(rng.normal(size=(len(SCALES), count, family.size)))
    return (drawn * torch.tensor(SCALES, dtype=torch.float64)[:, None, None]).flatten(0, 1)


def projected(problem: CollapseProblem, family: Bigrams) -> Float[Tensor, "cases contexts V"]:
    """Log-rows of the M-projection of each base's filtered policy, argmin KL(p_*||pi) over the family.

    These are p_*'s expected counts of each row's symbols, normalised; a row without visits is uniform.
    """
    cells = family.cells(torch.from_numpy(problem.valid_words)).flatten()
    mass = torch.from_numpy(problem.targets).repeat_interleave(problem.length, dim=1)
    counts = torch.zeros(problem.cases, family.size, dtype=torch.float64).index_add(1, cells, mass)
    rows = counts.unflatten(1, (family.contexts, family.vocabulary))
    visits = rows.sum(-1, keepdim=True)
    return torch.where(visits > 0, rows / visits, 1.0 / family.vocabulary).log()


def best_dirac(
    problem: CollapseProblem, family: Bigrams, scale: float = torch.inf
) -> Float[Tensor, "cases size"]:
    """For each base the family's Dirac on the base's likeliest valid word, as in `Bigrams.dirac`.

    No other deterministic member has a lower reverse-KL or alpha-divergence objective: at a valid word both
    decrease in a(y), and an invalid word is worse than the base. Raises ValueError if no valid word is
    reachable.
    """
    words = torch.from_numpy(problem.valid_words)
    reached = family.contains_dirac(words)
    if not reached.any():
        raise argument_error("family", family.name, "some deterministic member must be valid")
    targets = torch.from_numpy(problem.targets).masked_fill(~reached, -torch.inf)
    return family.dirac(words[targets.argmax(-1)], scale)


def global_minimum(
    objective: Objective,
    family: Bigrams,
    starts: Float[Tensor, "rows starts size"],
    dirac: Float[Tensor, "rows size"],
    *parameters: Tensor,
) -> Optimum:
    """Minimise every row from each of its starts and return the best; each parameter has one entry per row.

    The value is inf if no start led to a minimum.
    """
    rows, count = starts.shape[:2]
    spread = [parameter.repeat_interleave(count, 0) for parameter in parameters]
    minima = minimise(objective, family.frame, starts.flatten(0, 1), *spread)
    value, converged = minima.value.view(rows, count), minima.converged.view(rows, count)
    # Only a minimum may be the best: a start that was cut short is no evidence.
    ranked = value.masked_fill(~converged, torch.inf)
    best, index = ranked.min(-1)
    flat = torch.arange(rows) * count + index
    unit = 1 + best.abs()
    beyond = ranked.masked_fill(ranked <= (best + SAME * unit)[:, None], torch.inf).amin(-1)
    at_dirac = objective(dirac, *parameters)
    boundary = best.isfinite() & (best >= at_dirac - ON_THE_BOUNDARY * unit)
    return Optimum(
        theta=torch.where(boundary[:, None], dirac, minima.theta[flat]),
        value=torch.where(boundary, at_dirac, best),
        starts=torch.full((rows,), count),
        agree=(ranked <= (best + SAME * unit)[:, None]).sum(-1),
        unconverged=(~converged).sum(-1),
        gap=beyond - best,
        gradient_norm=minima.gradient_norm[flat],
        curvature=minima.curvature[flat],
        dirac=at_dirac,
        boundary=boundary,
    )


def confirmed_minimum(
    objective: Objective,
    family: Bigrams,
    starts: Float[Tensor, "rows starts size"],
    dirac: Float[Tensor, "rows size"],
    *parameters: Tensor,
    fresh: Callable[[], Float[Tensor, "more size"]],
    rounds: int,
) -> Optimum:
    """`global_minimum`, repeated for rows whose minimum fewer than ENOUGH starts reached.

    Those rows get further starts from `fresh`, at most `rounds` times. Raises ValueError if none of the first
    starts led to a minimum.
    """
    optimum = global_minimum(objective, family, starts, dirac, *parameters)
    if not optimum.value.isfinite().all():
        allowed = "more starts: from none of them was a minimum reached"
        raise argument_error("starts", starts.shape[1], allowed)
    for _ in range(rounds):
        (rare,) = torch.where(optimum.agree < ENOUGH)
        if not len(rare):
            break
        points = fresh().expand(len(rare), -1, -1)
        again = global_minimum(objective, family, points, dirac[rare], *(p[rare] for p in parameters))
        joined = Optimum(*(column[rare] for column in optimum)).joined(again)
        optimum = Optimum(*(old.index_copy(0, rare, new) for old, new in zip(optimum, joined, strict=True)))
    return optimum
