"""Matching measured values and gradients against the candidates, over several problems at once."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from .candidates import ESTIMANDS, Quantity, alpha_gradients, quantities
from .combinations import MOST_TERMS, PER_TOKEN, find_sum
from .exact import Measured
from .problems import Problem
from .report import Match

EXACT = 1e-7
"""Relative agreement, over all problems, that counts as exact; exact sums in float64 reach 1e-12."""
SUM_EXACT = 1e-9
"""The same for sums of quantities, which have more constants to fit."""
ZERO = 1e-10
NOISE = 1e-9
"""A loss no batch of which has a larger gradient vanishes but for rounding, unless it matches something."""
FLOAT32, FLOAT32_ZERO = 2e-5, 1e-5
"""The two for a loss that computes in float32."""

Known = dict[str, Quantity]


def match_gradient(
    measured: Sequence[Measured],
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
        if max(angles) < math.degrees(_tolerance(single)) and len({c > 0 for c in constants}) == 1:
            constant = _one_constant(constants, lengths, _tolerance(single))
            if constant is not None:
                return Match(name, True, *constant)
        # The median: a clamp that acts on one problem should not decide what is nearest.
        angle = float(np.median(angles))
        if best.angle is None or angle < best.angle:
            best = Match(name, exact=False, angle=angle)
    return Match("zero", exact=True) if all(m.scale <= NOISE for m in measured) else best


def match_gradient_or_sum(
    measured: Sequence[Measured],
    problems: Sequence[Problem],
    source: str,
    *,
    single: bool = False,
    most_terms: int = MOST_TERMS,
) -> Match:
    """Which quantity's gradient the measured ones are, or which sum of quantities'; else the nearest."""
    known = [quantities(problem, source) for problem in problems]
    found = match_gradient(measured, known, [float(problem.length) for problem in problems], single=single)
    if found.exact or found.name == "failed":
        return found
    return match_sum(measured, known, problems, source, single=single, most_terms=most_terms) or found


def match_sum(
    measured: Sequence[Measured],
    known: Sequence[Known],
    problems: Sequence[Problem],
    source: str,
    *,
    single: bool = False,
    most_terms: int = MOST_TERMS,
) -> Match | None:
    """The sum of at most so many quantities (two in float32) whose gradient the measured ones are, or None.

    On sequences each quantity may be divided by the number of tokens.
    """
    if not measured:
        return None
    wanted = torch.cat([m.gradient for m in measured]).numpy()
    lengths = [float(p.length) for p in problems]

    @cache
    def of_alpha(alpha: float) -> dict[str, np.ndarray]:
        return _columns([alpha_gradients(problem, source, alpha) for problem in problems], lengths)

    columns = _columns([{name: q.gradient for name, q in each.items()} for each in known], lengths)
    found = (
        find_sum(wanted, columns, None, FLOAT32, most_terms=2)
        if single
        else find_sum(wanted, columns, of_alpha, SUM_EXACT, most_terms)
    )
    if found is None:
        return None
    if len(found.terms) == 1:
        ((constant, name),) = found.terms
        return Match(name.removesuffix(PER_TOKEN), True, constant, per_token=name.endswith(PER_TOKEN))
    return Match(_sum_words(found.terms), True, 1.0, terms=found.terms)


def _columns(gradients: Sequence[dict[str, torch.Tensor]], lengths: Sequence[float]) -> dict[str, np.ndarray]:
    """All problems' gradients of a quantity below one another, on sequences also divided by their tokens."""
    names = [name for name in gradients[0] if all(name in each for each in gradients)]
    found = {name: torch.cat([each[name] for each in gradients]).numpy() for name in names}
    if max(lengths) > 1:
        for name in names:
            parts = [each[name] / length for each, length in zip(gradients, lengths, strict=True)]
            found[f"{name}{PER_TOKEN}"] = torch.cat(parts).numpy()
    return found


def _sum_words(terms: Sequence[tuple[float, str]]) -> str:
    """Such as: minus expected reward + 0.04 forward KL(ref||pi)."""
    words = ""
    for coefficient, name in terms:
        size = "" if abs(abs(coefficient) - 1) < 1e-6 else f"{abs(coefficient):.6g} "
        sign = ("-" if coefficient < 0 else "") if not words else (" - " if coefficient < 0 else " + ")
        words += f"{sign}{size}{name}"
    return words


def match_value(
    measured: Sequence[Measured], known: Sequence[Known], lengths: Sequence[float], *, single: bool = False
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
    # Farther than that from everything is no estimate of anything.
    return best if least < 1.0 else Match("none", exact=False)


def _tolerance(single: bool) -> float:
    return FLOAT32 if single else EXACT


def _shared(known: Sequence[Known]) -> list[str]:
    return [name for name in known[0] if all(name in k for k in known)]


def _angle(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """The angle between two directions, in degrees, 0 to 90: accurate for small ones."""
    a, b = found / found.norm().clamp_min(1e-300), wanted / wanted.norm()
    away = min(float((a - b).norm()), float((a + b).norm()))
    return math.degrees(2 * math.asin(min(1.0, away / 2)))


def _one_constant(
    ratios: Sequence[float], lengths: Sequence[float], tolerance: float
) -> tuple[float, bool] | None:
    """(constant, per_token) if the ratios agree, as they are or times the number of tokens."""
    for per_token in (False, True):
        scaled = np.array(ratios) * (np.array(lengths) if per_token else 1.0)
        middle = float(scaled.mean())
        if middle != 0 and np.abs(scaled / middle - 1).max() < tolerance:
            return middle, per_token
    return None
