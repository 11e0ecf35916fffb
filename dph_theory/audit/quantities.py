"""The quantities a loss may estimate or descend, and which of them, or which sum, measured values are."""

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
from .exact import MeasuredLoss, Problem
from .report import ENTROPY, REWARD, Match
from .report import PER_TOKEN as POWERS

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
"""Every declared divergence, in both directions; Hellinger's is half of alpha-divergence 0.5."""
TO_FILTERED = {
    "forward KL(p_*||pi)": FORWARD_KL,
    "JS generator to p_*": JENSEN_SHANNON,
    "alpha-divergence 0.5 to p_*": alpha_divergence(0.5),
}
"""Those that stay finite: p_* has no mass on invalid outcomes, so the reverse KL to it is infinite."""
TO_OLD = {"forward KL(old||pi)": FORWARD_KL, "reverse KL(pi||old)": REVERSE_KL}
"""On samples of an old policy."""
ESTIMANDS = (*DIVERGENCES, *TO_FILTERED, *TO_OLD)
"""What a value may be a biased estimate of; entropy and reward are no divergences."""


@dataclass(frozen=True)
class Quantity:
    """The value of a named quantity on a problem, and its gradient in the logits (flattened)."""

    value: float
    gradient: Tensor


@cache
def quantities(problem: Problem, source: str) -> dict[str, Quantity]:
    """Every candidate on this problem; token-level ones only where there are several tokens."""
    return {name: made() for name, made in _candidates(problem, source).items()}


def _candidates(problem: Problem, source: str) -> dict[str, Callable[[], Quantity]]:
    pi, ref = problem.distribution(problem.policy), problem.distribution(problem.reference)
    valid, old = problem.valid.numpy(), problem.distribution(problem.old)
    target = ref * valid / (ref * valid).sum()
    aims = [(DIVERGENCES, ref)] + [(TO_OLD, old)] * (source == "old_policy")
    # On the policy's own samples right answers are no samples of p_*: what they pull is the reward.
    aims += [(TO_FILTERED, target)] * (source in ("reference", "filtered"))

    def of(divergence: FDivergence, aim: np.ndarray, shift: float = 0.0) -> Quantity:
        pull = divergence.gradient(pi, aim)
        return Quantity(float(divergence(pi, aim)) + shift, _chained(pull, problem))

    def under_policy(mean_of: np.ndarray) -> Quantity:
        return Quantity(float((pi * mean_of).sum()), _chained(pi * mean_of, problem))

    found: dict[str, Callable[[], Quantity]] = {
        REWARD: partial(under_policy, -valid),
        ENTROPY: lambda: under_policy(-np.log(pi)),
    }
    for group, aim in aims:
        found |= {name: partial(of, divergence, aim) for name, divergence in group.items()}
    if source == "filtered":
        # What -log u averages to on correct samples: no base rate is known there, and none moves.
        base_rate = float(np.log((ref * valid).sum()))
        found["forward KL(p_*||pi) + log A1"] = lambda: of(FORWARD_KL, target, base_rate)
    return found | (_token_sums(problem, source) if problem.length > 1 else {})


def token_sum(name: str) -> str:
    """The name of the token-level sum of that divergence."""
    return f"token sum of {name} on the samples' prefixes"


def gradient_of(match: Match, problem: Problem, source: str, reward: float = 1.0) -> Tensor:
    """The gradient that an exact match says a loss has on a problem, its rewards times `reward`."""
    known = _candidates(problem, source)
    total = torch.zeros(problem.policy.numel(), dtype=torch.float64)
    if match.name == "zero":
        return total
    for coefficient, name in match.terms or ((match.constant or 1.0, match.name),):
        bare = name.removesuffix(PER_TOKEN)
        gradient = known[bare]().gradient
        power = 1 if bare != name else match.per_token
        total += coefficient * (reward if bare == REWARD else 1.0) * gradient / problem.length**power
    return total


@cache
def _through(problem: Problem) -> np.ndarray:
    """The derivatives d log pi(y)/d theta, (sequences, parameters)."""

    def sequence_log_probs(logits: Tensor) -> Tensor:
        return problem.log_probs(logits).sum(dim=-1)

    derivatives: Tensor = torch.autograd.functional.jacobian(sequence_log_probs, problem.policy)
    return np.asarray(derivatives.flatten(1))


def _chained(pull: np.ndarray, problem: Problem) -> Tensor:
    return torch.as_tensor(pull @ _through(problem))


def _token_sums(problem: Problem, source: str) -> dict[str, Callable[[], Quantity]]:
    weights = problem.prefix_law(problem.samples(source)).numpy()
    pi, ref = _tables(problem)

    def of(values: np.ndarray, pull: np.ndarray) -> Quantity:
        return Quantity(float((weights * values).sum()), torch.as_tensor(weights[:, None] * pull).flatten())

    def entropy() -> Quantity:
        surprise = -pi * np.log(pi)
        whole = surprise.sum(axis=-1)
        return of(whole, surprise - pi * whole[:, None])

    def made(divergence: FDivergence) -> Quantity:
        return of(divergence(pi, ref), divergence.gradient(pi, ref))

    sums = {token_sum(name): partial(made, divergence) for name, divergence in DIVERGENCES.items()}
    return {**sums, token_sum(ENTROPY): entropy}


def _tables(problem: Problem) -> tuple[np.ndarray, ...]:
    """The next-token laws of the policy and of the reference, (prefixes, vocabulary)."""
    return tuple(torch.softmax(logits, -1).numpy() for logits in (problem.policy, problem.reference))


MOST_TERMS = 3
PER_TOKEN = POWERS[1]
"""What ends the name of a column that is divided by the number of tokens."""
_SHORTLIST = 8
"""So many of the sums that fit best, by their normal equations, are fitted again exactly."""
_SMALLEST, _LARGEST = 1e-5, 1e3
"""A term of a lesser share of the whole is none; one of a greater share is all but cancelled by another."""

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Sum:
    """A sum of named columns, and how far off it is, relative to the whole."""

    terms: tuple[tuple[float, str], ...]
    error: float


def find_sum(
    wanted: np.ndarray, columns: Columns, tolerance: float, most_terms: int = MOST_TERMS
) -> Sum | None:
    """The shortest sum of columns that is `wanted` (rows,) within the tolerance, relative to its norm.

    Of equally short ones the best; None if there is no such sum.
    """
    columns = _distinct(columns)
    known = _Products.of(columns, wanted)
    for count in range(1, most_terms + 1):
        found = _best(wanted, columns, known, count)
        if found is not None and found.error < tolerance:
            return found
    return None


@dataclass(frozen=True)
class _Products:
    """The columns as unit vectors (rows, columns), their products with one another and with the wanted."""

    units: np.ndarray
    gram: np.ndarray
    pull: np.ndarray
    whole: float

    @classmethod
    def of(cls, columns: Columns, wanted: np.ndarray) -> "_Products":
        """Those of these columns."""
        stacked = np.stack(list(columns.values()), axis=1)
        units = stacked / np.linalg.norm(stacked, axis=0)
        return cls(units, units.T @ units, units.T @ wanted, float(wanted @ wanted))

    def explained(self, places: np.ndarray) -> np.ndarray:
        """The share of |wanted|^2 that each sum explains, by its normal equations, (sums,)."""
        normal = self.gram[places[:, :, None], places[:, None, :]] + 1e-13 * np.eye(places.shape[1])
        reached = self.pull[places]
        solved = np.linalg.solve(normal, reached[..., None])[..., 0]
        found: np.ndarray = (reached * solved).sum(axis=-1) / self.whole
        return found


@cache
def _sums(names: tuple[str, ...], count: int) -> np.ndarray:
    """The places of the terms of every sum of so many, none of them in two scales, (sums, count)."""
    bare = [name.removesuffix(PER_TOKEN) for name in names]
    chosen = [c for c in combinations(range(len(names)), count) if len({bare[i] for i in c}) == count]
    return np.array(chosen, dtype=int).reshape(len(chosen), count)


def _distinct(columns: Columns) -> Columns:
    """Without the columns that vanish or are multiples of an earlier one."""
    kept: dict[str, np.ndarray] = {}
    units: list[np.ndarray] = []
    for name, column in columns.items():
        size = np.linalg.norm(column)
        if size > 0 and not any(abs(unit @ column) > (1 - 1e-12) * size for unit in units):
            kept[name] = column
            units.append(column / size)
    return kept


def _best(wanted: np.ndarray, columns: Columns, known: _Products, count: int) -> Sum | None:
    """The best sum of so many columns: all by their normal equations, the shortlist exactly."""
    names = tuple(columns)
    places = _sums(names, count)
    order = np.argsort(-known.explained(places))[:_SHORTLIST]
    sums = [_fitted(wanted, columns, [names[i] for i in places[k]]) for k in order]
    return min((s for s in sums if s is not None), key=lambda s: s.error, default=None)


def _fitted(wanted: np.ndarray, columns: Columns, names: Sequence[str]) -> Sum | None:
    """Least squares in these columns; None if one of them is not needed."""
    stacked = np.stack([columns[name] for name in names], axis=1)
    solved, _, rank, _ = np.linalg.lstsq(stacked, wanted, rcond=1e-12)
    whole = float(np.linalg.norm(wanted))
    shares = np.abs(solved) * np.linalg.norm(stacked, axis=0) / whole
    if rank < len(names) or (shares < _SMALLEST).any() or shares.max() > _LARGEST:
        return None
    error = float(np.linalg.norm(stacked @ solved - wanted)) / whole
    return Sum(tuple((float(c), name) for c, name in zip(solved, names, strict=True)), error)


EXACT = 1e-7
"""Relative agreement, over all problems, that counts as exact; exact sums in float64 reach 1e-12."""
SUM_EXACT = 1e-9
"""The same for sums of quantities, which have more constants to fit."""
FAR = 45.0
"""Degrees, on any problem, from which on a gradient is near nothing."""
FAR_OFF = 2 / 3
"""The relative error, on any problem, from which on a value is near nothing."""
ZERO = 1e-10
NOISE = 1e-9
"""A loss no batch of which has a larger gradient vanishes but for rounding, unless it matches something."""
FLOAT32, FLOAT32_ZERO = 2e-5, 1e-5
"""The two for a loss that computes in float32."""

Known = dict[str, Quantity]


def match_gradient(
    measured: Sequence[MeasuredLoss],
    known: Sequence[Known],
    lengths: Sequence[float],
    *,
    single: bool = False,
) -> Match:
    """Which quantity's gradient the measured ones are, up to one constant (or one constant per token).

    single: the loss computes in float32, and agreement is that of float32.
    """
    if not measured:
        return Match("failed", exact=False)
    if all(m.gradient.norm() <= (FLOAT32_ZERO if single else ZERO) * max(m.scale, 1e-300) for m in measured):
        return Match("zero", exact=True)
    best = Match("none", exact=False)
    for name in _shared(known):
        pairs = [(m.gradient, k[name].gradient) for m, k in zip(measured, known, strict=True)]
        if all(wanted.norm() == 0 for _, wanted in pairs):
            continue
        angles = [_angle(found, wanted) for found, wanted in pairs]
        constants = [float(found @ wanted / (wanted @ wanted)) for found, wanted in pairs]
        # Opposite directions are near too: the constant is negative then.
        if min(max(angles), 180 - min(angles)) < math.degrees(_tolerance(single)):
            constant = _one_constant(constants, lengths, _tolerance(single))
            if constant is not None:
                return Match(name, True, *constant)
        for sign, angle in ((1.0, max(angles)), (-1.0, 180 - min(angles))):
            if angle < (FAR if best.angle is None else best.angle):
                best = Match(name, exact=False, angle=angle, constant=sign)
    return Match("zero", exact=True) if all(m.scale <= NOISE for m in measured) else best


def match_gradient_or_sum(
    measured: Sequence[MeasuredLoss],
    problems: Sequence[Problem],
    source: str,
    *,
    single: bool = False,
    most_terms: int = MOST_TERMS,
) -> Match:
    """Which quantity's gradient the measured ones are, or which sum of quantities'; else the nearest.

    A sum has at most so many terms, two in float32; on sequences each may be divided by the number of tokens.
    """
    known = [quantities(problem, source) for problem in problems]
    lengths = [float(problem.length) for problem in problems]
    found = match_gradient(measured, known, lengths, single=single)
    if found.exact or found.name == "failed":
        return found
    wanted = torch.cat([m.gradient for m in measured]).numpy()
    tolerance, most = (FLOAT32, 2) if single else (SUM_EXACT, most_terms)
    total = find_sum(wanted, _columns(known, lengths), tolerance, most)
    if total is None:
        return found
    if len(total.terms) == 1:
        ((constant, name),) = total.terms
        return Match(name.removesuffix(PER_TOKEN), True, constant, int(name.endswith(PER_TOKEN)))
    words = " + ".join(f"{c:.6g} {name}" for c, name in total.terms)
    return Match(words.replace("+ -", "- "), True, 1.0, terms=total.terms)


def _columns(known: Sequence[Known], lengths: Sequence[float]) -> dict[str, np.ndarray]:
    """All problems' gradients of a quantity below one another, on sequences also divided by their tokens."""
    found = {name: torch.cat([each[name].gradient for each in known]).numpy() for name in _shared(known)}
    if max(lengths) > 1:
        divisors = np.concatenate(
            [[n] * len(next(iter(k.values())).gradient) for k, n in zip(known, lengths, strict=True)]
        )
        found |= {f"{name}{PER_TOKEN}": column / divisors for name, column in found.items()}
    return found


def match_value(
    measured: Sequence[MeasuredLoss],
    known: Sequence[Known],
    lengths: Sequence[float],
    *,
    single: bool = False,
) -> Match:
    """Which quantity the measured values are, up to one constant; else the nearest, and how far off."""
    if not measured:
        return Match("failed", exact=False)
    values = [m.value for m in measured]
    if all(abs(value) <= (FLOAT32_ZERO if single else ZERO) for value in values):
        return Match("zero", exact=True)
    best, least = Match("none", exact=False), np.inf
    for name in _shared(known):
        wanted = [k[name].value for k in known]
        if 0.0 in wanted:
            continue
        ratios = [value / want for value, want in zip(values, wanted, strict=True)]
        constant = _one_constant(ratios, lengths, _tolerance(single))
        if constant is not None:
            return Match(name, True, *constant)
        if name not in ESTIMANDS:
            continue
        # A bias is told against the quantity itself, per token where that is nearer.
        for scale in ([1.0] * len(ratios), [float(n) for n in lengths]):
            errors = [ratio * factor - 1 for ratio, factor in zip(ratios, scale, strict=True)]
            if max(map(abs, errors)) < least:
                least = max(map(abs, errors))
                best = Match(name, exact=False, bias=(min(errors), max(errors)))
    # Zero is off by one from everything: what is nearer to it than to any quantity estimates none.
    return best if least < FAR_OFF else Match("none", exact=False)


def _tolerance(single: bool) -> float:
    return FLOAT32 if single else EXACT


def _shared(known: Sequence[Known]) -> list[str]:
    return [name for name in known[0] if all(name in k for k in known)]


def _angle(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """The angle between two directions, in degrees, 0 to 180: accurate for those near to 0 and to 180."""
    a, b = found / found.norm().clamp_min(1e-300), wanted / wanted.norm()
    near, far = float((a - b).norm()), float((a + b).norm())
    angle = math.degrees(2 * math.asin(min(1.0, min(near, far) / 2)))
    return angle if near <= far else 180 - angle


def _one_constant(
    ratios: Sequence[float], lengths: Sequence[float], tolerance: float
) -> tuple[float, int] | None:
    """(constant, power) if the ratios agree times that power of the number of tokens."""
    for power in range(len(POWERS)):
        scaled = np.array(ratios) * np.array(lengths) ** power
        middle = float(scaled.mean())
        if middle != 0 and np.abs(scaled / middle - 1).max() < tolerance:
            return middle, power
    return None
