"""Quantities that a loss may estimate or minimise, and the matching of measured values to them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from ..divergences import (
    CHI_SQUARED,
    FORWARD_KL,
    JENSEN_SHANNON,
    NEYMAN_CHI_SQUARED,
    REVERSE_KL,
    TOTAL_VARIATION,
    alpha_divergence,
)
from ..fdivergence import FDivergence
from .called_loss import ExpectedLoss
from .precision import FLOAT32
from .problem import Problem
from .report import ENTROPY, PER_TOKEN, REWARD, Match

DIVERGENCES: Mapping[str, FDivergence] = {
    "forward KL(ref||pi)": FORWARD_KL,
    "reverse KL(pi||ref)": REVERSE_KL,
    "JS generator (twice the JS divergence)": JENSEN_SHANNON,
    "alpha-divergence 0.2": alpha_divergence(0.2),
    "alpha-divergence 0.5": alpha_divergence(0.5),
    "chi-squared(pi||ref)": CHI_SQUARED,
    "chi-squared(ref||pi)": NEYMAN_CHI_SQUARED,
    "total variation": TOTAL_VARIATION,
}
"""Declared divergences in both directions; Hellinger's is half of alpha-divergence 0.5."""
TO_FILTERED = {
    "forward KL(p_*||pi)": FORWARD_KL,
    "JS generator to p_*": JENSEN_SHANNON,
    "alpha-divergence 0.5 to p_*": alpha_divergence(0.5),
}
"""Divergences to p_* that stay finite: p_* has no mass on incorrect outcomes."""
TO_OLD = {"forward KL(old||pi)": FORWARD_KL, "reverse KL(pi||old)": REVERSE_KL}
"""Divergences to the old policy, on its samples."""
SQUARED = "mean squared log(pi/old)"
"""Squared log ratio to the sampler, on samples of an old policy."""
ESTIMANDS = (*DIVERGENCES, *TO_FILTERED, *TO_OLD, SQUARED)
"""Quantities that a value may estimate with bias; entropy and reward are no divergences."""


@dataclass(frozen=True)
class Quantity:
    """Value of a named quantity on a problem, and its gradient in the logits (flattened)."""

    value: float
    gradient: Tensor


@cache
def quantities(problem: Problem, source: str) -> dict[str, Quantity]:
    """Value and gradient of every candidate quantity on a problem for samples from `source`, by name."""
    return {name: quantity() for name, quantity in _candidates(problem, source).items()}


def _candidates(problem: Problem, source: str) -> dict[str, Callable[[], Quantity]]:
    jacobian = problem.jacobian.sum(dim=1).numpy()
    logits = (problem.policy, problem.reference, problem.old)
    pi, ref, old = (problem.probabilities(policy_logits).numpy() for policy_logits in logits)
    valid = problem.valid.numpy()
    target = ref * valid / (ref * valid).sum()
    aims = [(DIVERGENCES, ref)] + ([(TO_OLD, old)] if source == "old_policy" else [])
    # On the policy's own samples correct answers are no samples of p_*: what they raise is the reward.
    aims += [(TO_FILTERED, target)] if source in ("reference", "filtered") else []

    def divergence_to(aim: np.ndarray, divergence: FDivergence, shift: float = 0.0) -> Quantity:
        gradient = divergence.gradient(pi, aim)
        return Quantity(float(divergence(pi, aim)) + shift, torch.as_tensor(gradient @ jacobian))

    def mean_of(values: np.ndarray) -> Quantity:
        return Quantity(float((pi * values).sum()), torch.as_tensor((pi * values) @ jacobian))

    candidates: dict[str, Callable[[], Quantity]] = {
        REWARD: partial(mean_of, -valid),
        ENTROPY: lambda: mean_of(-np.log(pi)),
    }
    for group, aim in aims:
        candidates |= {name: partial(divergence_to, aim, divergence) for name, divergence in group.items()}
    if source == "old_policy":
        log_ratio = np.log(pi / old)
        squared = Quantity(float(old @ log_ratio**2), torch.as_tensor((2 * old * log_ratio) @ jacobian))
        candidates[SQUARED] = lambda: squared
    if source == "filtered":
        # What -log u averages to on correct samples: no base rate is known there, and none moves.
        base_rate = float(np.log((ref * valid).sum()))
        candidates["forward KL(p_*||pi) + log A1"] = partial(divergence_to, target, FORWARD_KL, base_rate)
    return candidates | (_token_sums(problem, source) if problem.length > 1 else {})


def token_sum(name: str) -> str:
    """Name under which reports list the sum over tokens of a divergence on the samples' prefixes."""
    return f"token sum of {name} on the samples' prefixes"


def _token_sums(problem: Problem, source: str) -> dict[str, Callable[[], Quantity]]:
    """Functions, by name, that give a divergence of next-token policies summed over visited prefixes."""
    visits = problem.prefix_visits(source).numpy()
    pi, ref = (torch.softmax(logits, -1).numpy() for logits in (problem.policy, problem.reference))

    def over_visits(values: np.ndarray, gradients: np.ndarray) -> Quantity:
        gradient = torch.as_tensor(visits[:, None] * gradients).flatten()
        return Quantity(float((visits * values).sum()), gradient)

    def sum_of(divergence: FDivergence) -> Quantity:
        return over_visits(divergence(pi, ref), divergence.gradient(pi, ref))

    surprise = -pi * np.log(pi)
    entropy = surprise.sum(axis=-1)
    entropy_sum = partial(over_visits, entropy, surprise - pi * entropy[:, None])
    sums = {token_sum(name): partial(sum_of, divergence) for name, divergence in DIVERGENCES.items()}
    if source == "old_policy":
        old = torch.softmax(problem.old, -1).numpy()
        slope = 2 * old * np.log(pi / old)
        squares, slopes = (
            (old * np.log(pi / old) ** 2).sum(axis=-1),
            slope - pi * slope.sum(-1, keepdims=True),
        )
        sums[token_sum(SQUARED)] = partial(over_visits, squares, slopes)
    return {**sums, token_sum(ENTROPY): entropy_sum}


def gradient_of(match: Match, problem: Problem, source: str, reward: float = 1.0) -> Tensor:
    """Logit gradient (parameters,) that an exact match predicts on a problem, with rewards times `reward`."""
    total = torch.zeros(problem.policy.numel(), dtype=torch.float64)
    if match.name == "zero":
        return total
    candidates = _candidates(problem, source)
    for coefficient, name in match.all_terms:
        bare = name.removesuffix(PER_TOKEN[1])
        power = match.per_token if bare == name else 1
        times = coefficient * (reward if bare == REWARD else 1.0)
        total += times * candidates[bare]().gradient / problem.length**power
    return total


MOST_TERMS = 3
_SHORTLIST = 8
"""Number of best sums, by their normal equations, that are fitted again exactly."""
_SMALLEST, _LARGEST = 1e-5, 1e3
"""Least share of a term in the whole, and largest, beyond which terms cancel."""

Columns = Mapping[str, np.ndarray]
Terms = tuple[tuple[float, str], ...]


def find_sum(
    target: np.ndarray, columns: Columns, tolerance: float, most_terms: int = MOST_TERMS
) -> Terms | None:
    """Shortest sum of `columns` (name: (rows,)) that equals `target` (rows,), as (coefficient, name) terms.

    The error is at most `tolerance` times the target's norm, and smallest among equally short sums. None if
    no sum of at most `most_terms` fits, or if it needs one quantity both undivided and divided by the token
    count.
    """
    units: dict[str, np.ndarray] = {}
    for name, column in columns.items():
        unit = column / (np.linalg.norm(column) or 1.0)
        if unit.any() and not any(abs(other @ unit) > 1 - 1e-12 for other in units.values()):
            units[name] = unit
    names = tuple(units)
    stacked, size = np.stack(list(units.values()), axis=1), float(np.linalg.norm(target))
    gram, projections = stacked.T @ stacked, stacked.T @ target
    for count in range(1, most_terms + 1):
        # The share of |target|^2 that each sum explains, by its normal equations.
        places = _sums(names, count)
        normal = gram[places[:, :, None], places[:, None, :]] + 1e-13 * np.eye(count)
        solved = np.linalg.solve(normal, projections[places][..., None])[..., 0]
        best, least = None, tolerance
        for chosen in places[np.argsort(-(projections[places] * solved).sum(axis=-1))[:_SHORTLIST]]:
            shares, _, rank, _ = np.linalg.lstsq(stacked[:, chosen], target, rcond=1e-12)
            sizes = np.abs(shares) / size
            error = float(np.linalg.norm(stacked[:, chosen] @ shares - target)) / size
            needed = rank == count and (sizes >= _SMALLEST).all() and sizes.max() <= _LARGEST
            if needed and error < least:
                least = error
                best = tuple(
                    (float(share / np.linalg.norm(columns[names[i]])), names[i])
                    for share, i in zip(shares, chosen, strict=True)
                )
        if best is not None:
            return best
    return None


@cache
def _sums(names: tuple[str, ...], count: int) -> np.ndarray:
    """Column indices of every sum of `count` terms, none of them in two scales, (sums, count)."""
    bare = [name.split(PER_TOKEN[1])[0] for name in names]
    chosen = [c for c in combinations(range(len(names)), count) if len({bare[i] for i in c}) == count]
    return np.array(chosen, dtype=int).reshape(len(chosen), count)


EXACT = 1e-7
"""Relative agreement, over all problems, of an exact match; exact sums in float64 reach 1e-12."""
SUM_EXACT = 1e-9
"""Relative agreement of sums of quantities, which have more constants to fit."""
LARGEST_ANGLE = 45.0
"""Angle in degrees, on any problem, from which a gradient is near nothing."""
FAR_OFF = 2 / 3
"""Relative error, on any problem, from which a value is near nothing."""
ZERO = 1e-10
NOISE = 1e-9
"""Norm of all batches' gradients below which an unmatched loss vanishes but for rounding."""
FLOAT32_ZERO = 1e-5
"""Zero for a loss that computes in float32, whose sums have two terms at most."""
NOTHING = Match("none", exact=False)


def match_gradient(
    measured: Sequence[ExpectedLoss], *, in_float32: bool = False, most_terms: int = MOST_TERMS
) -> Match:
    """Match measured gradients to one quantity's or to a sum of several; otherwise name the nearest.

    On sequences each term may be divided by the number of tokens, a single term also by its square. With
    `in_float32` agreement is judged at that precision.
    """
    if not measured:
        return Match("failed", exact=False)
    if all(
        m.gradient.norm() <= (FLOAT32_ZERO if in_float32 else ZERO) * max(m.scale, 1e-300) for m in measured
    ):
        return Match("zero", exact=True)
    gradients = torch.cat([m.gradient for m in measured]).numpy()
    lengths = np.concatenate([[m.problem.length] * len(m.gradient) for m in measured])
    by_name = _by_problem(measured, moving=True).items()
    columns = {name: torch.cat([q.gradient for q in by_problem]).numpy() for name, by_problem in by_name}
    by_power: list[dict[str, np.ndarray]] = [
        {f"{name}{divided}": column / lengths**power for name, column in columns.items()}
        for power, divided in enumerate(PER_TOKEN)
    ]
    alone = find_sum(gradients, by_power[0] | by_power[1] | by_power[2], FLOAT32 if in_float32 else EXACT, 1)
    if alone is not None:
        return _one(*alone[0])
    if all(m.scale <= NOISE for m in measured):
        return Match("zero", exact=True)
    most = min(most_terms, 2) if in_float32 else most_terms
    terms = find_sum(gradients, by_power[0] | by_power[1], FLOAT32 if in_float32 else SUM_EXACT, most)
    if terms is None:
        return nearest(measured)
    words = " + ".join(f"{c:.6g} {name}" for c, name in terms)
    return Match(words.replace("+ -", "- "), True, 1.0, terms=terms)


def match_value(measured: Sequence[ExpectedLoss], *, in_float32: bool = False) -> Match:
    """Match measured values to a quantity plus a constant; otherwise name the nearest, with its bias."""
    if not measured:
        return Match("failed", exact=False)
    values = np.array([m.value for m in measured])
    if (np.abs(values) <= (FLOAT32_ZERO if in_float32 else ZERO)).all():
        return Match("zero", exact=True)
    by_name = _by_problem(measured).items()
    columns = {name: np.array([quantity.value for quantity in by_problem]) for name, by_problem in by_name}
    if alone := find_sum(values, columns, FLOAT32 if in_float32 else EXACT, 1):
        return _one(*alone[0])
    best, least = NOTHING, FAR_OFF
    # Zero is off by one from everything: what is nearer to it than to any quantity estimates none.
    for name in ESTIMANDS:
        if name in columns and columns[name].all():
            errors = values / columns[name] - 1
            if (off := float(np.abs(errors).max())) < least:
                bias = (float(errors.min()), float(errors.max()))
                best, least = Match(name, exact=False, bias=bias), off
    return best


def nearest(measured: Sequence[ExpectedLoss]) -> Match:
    """Quantity (or its negative) whose gradients have the smallest worst angle to the measured ones."""
    best, least = NOTHING, LARGEST_ANGLE
    for name, by_problem in _by_problem(measured, moving=True).items():
        angles = [_angle(m.gradient, q.gradient) for m, q in zip(measured, by_problem, strict=True)]
        for sign, angle in ((1.0, max(angles)), (-1.0, 180 - min(angles))):
            if angle < least:
                best, least = Match(name, exact=False, angle=angle, constant=sign), angle
    return best


def _one(constant: float, name: str) -> Match:
    """Exact match of one term; the name's suffix says by which power of the token count it is divided."""
    bare = name.split(PER_TOKEN[1])[0]
    return Match(bare, True, constant, PER_TOKEN.index(name.removeprefix(bare)))


def _by_problem(measured: Sequence[ExpectedLoss], *, moving: bool = False) -> dict[str, list[Quantity]]:
    """Candidates known on all measured problems, by name; with `moving`, only those with a gradient."""
    tables = [quantities(m.problem, m.samples) for m in measured]
    shared = [name for name in tables[0] if all(name in table for table in tables)]
    by_name = {name: [table[name] for table in tables] for name in shared}
    return {name: row for name, row in by_name.items() if not moving or any(q.gradient.any() for q in row)}


def _angle(one: Tensor, other: Tensor) -> float:
    """Angle between two directions, in degrees, 0 to 180; accurate near 0 and 180."""
    a, b = (vector / vector.norm().clamp_min(1e-300) for vector in (one, other))
    apart, opposed = float((a - b).norm()), float((a + b).norm())
    angle = math.degrees(2 * math.asin(min(1.0, min(apart, opposed) / 2)))
    return angle if apart <= opposed else 180 - angle
