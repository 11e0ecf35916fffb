"""Matching measured values and gradients against the candidates, over several problems at once."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from .candidates import ESTIMANDS, Quantity
from .exact import Measured
from .report import Match

EXACT = 1e-7
"""Relative agreement, over all problems, that counts as exact; exact sums in float64 reach 1e-12."""
ZERO = 1e-10

Known = dict[str, Quantity]


def match_gradient(measured: Sequence[Measured], known: Sequence[Known], lengths: Sequence[int]) -> Match:
    """Which quantity's gradient the measured ones are, up to one constant (or one constant per token)."""
    if not measured:
        return Match("failed", exact=False)
    if all(m.gradient.norm() <= ZERO * max(m.scale, 1e-300) for m in measured):
        return Match("zero", exact=True)
    best = Match("none", exact=False)
    for name in _shared(known):
        pairs = [(m.gradient, k[name].gradient) for m, k in zip(measured, known, strict=True)]
        angles = [_angle(found, wanted) for found, wanted in pairs]
        constants = [float(found @ wanted / (wanted @ wanted)) for found, wanted in pairs]
        # Opposite directions are near too: the constant is negative then.
        if max(angles) < math.degrees(EXACT) and len({c > 0 for c in constants}) == 1:
            constant = _one_constant(constants, lengths)
            if constant is not None:
                return Match(name, True, *constant)
        # The median: a clamp that acts on one problem should not decide what is nearest.
        angle = float(np.median(angles))
        if best.angle is None or angle < best.angle:
            best = Match(name, exact=False, angle=angle)
    return best


def match_value(measured: Sequence[Measured], known: Sequence[Known], lengths: Sequence[int]) -> Match:
    """Which quantity the measured values are, up to one constant; else the nearest, and how far off."""
    if not measured:
        return Match("failed", exact=False)
    values = [m.value for m in measured]
    if all(abs(value) <= ZERO for value in values):
        return Match("zero", exact=True)
    best, least = Match("none", exact=False), np.inf
    for name in _shared(known):
        wanted = [k[name].value for k in known]
        ratios = [value / want for value, want in zip(values, wanted, strict=True)]
        constant = _one_constant(ratios, lengths)
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


def _shared(known: Sequence[Known]) -> list[str]:
    return [name for name in known[0] if all(name in k for k in known)]


def _angle(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """The angle between two directions, in degrees, 0 to 90: accurate for small ones."""
    a, b = found / found.norm().clamp_min(1e-300), wanted / wanted.norm()
    away = min(float((a - b).norm()), float((a + b).norm()))
    return math.degrees(2 * math.asin(min(1.0, away / 2)))


def _one_constant(ratios: Sequence[float], lengths: Sequence[int]) -> tuple[float, bool] | None:
    """(constant, per_token) if the ratios agree, as they are or times the number of tokens."""
    for per_token in (False, True):
        scaled = np.array(ratios) * (np.array(lengths) if per_token else 1.0)
        middle = float(scaled.mean())
        if middle != 0 and np.abs(scaled / middle - 1).max() < EXACT:
            return middle, per_token
    return None
