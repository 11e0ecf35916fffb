"""One token at any log ratio: overflow and nan, zero gradients, and the precision of a loss."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch

from .called_loss import Audited, LossError, LossInputs
from .problem import Problem
from .report import Finding

EXTREME = (1e-4, 1e-2, 1.0, 5.0, 10.0, 20.0, 40.0, 80.0, 85.0, 100.0, 300.0, 700.0, 1e3, 1e4)
_FAR_LOG_RATIOS = np.concatenate([np.arange(3.5, 60.5, 0.5), np.arange(80.0, 701.0, 20.0)])
FINE = np.concatenate([-_FAR_LOG_RATIOS[::-1], np.linspace(-3.0, 3.0, 121), _FAR_LOG_RATIOS])
"""Log ratios at which slopes are computed; no generator's own gradient underflows there in float64."""
POWERS = FINE[np.abs(FINE) <= 30]
"""Log ratios at which no power of a ratio in use underflows; a zone at an end goes on beyond it."""
SHIFTS = (0.0, 1.3, 5.0)
"""Distances of both log-probabilities below their maximum; a zone lacks a slope at each."""
DTYPES = (torch.float32, torch.bfloat16)
HALVINGS = 12


def first_failure(holds: Callable[[float], bool], sizes: Sequence[float]) -> tuple[float, float] | None:
    """Largest size at which a condition is true (bisected), and the first of `sizes` at which it fails."""
    inside = 0.0
    for size in sizes:
        if not holds(size):
            return bisected_boundary(holds, inside, size), size
        inside = size
    return None


def bisected_boundary(
    holds: Callable[[float], bool], inside: float, outside: float, halvings: int = HALVINGS
) -> float:
    """Bisect between `inside`, where a condition is true, and `outside`; returns the last true place."""
    for _ in range(halvings):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


def _tokens(
    points: Sequence[float] | np.ndarray,
    dtype: torch.dtype = torch.float64,
    *,
    shift: float = 0.0,
    advantage: float = 0.0,
    ratio: str = "pi/ref",
) -> LossInputs:
    """Inputs (points, 1) of one-token answers with these log ratios; advantage 0 leaves the penalty."""
    x = torch.as_tensor(np.asarray(points), dtype=torch.float64)
    log_pi, other = ((y.clamp(max=0.0) - shift).to(dtype)[:, None] for y in (x, -x))
    return {
        "log_pi": log_pi.requires_grad_(),
        "log_ref": other if ratio == "pi/ref" else log_pi.detach(),
        "log_old": other if ratio == "pi/old" else log_pi.detach() - (0.0 if advantage else shift / 10),
        "advantages": torch.full_like(other, advantage),
        "mask": torch.ones_like(other),
    }


def _alone(audited: Audited, inputs: LossInputs, row: int) -> tuple[float, float]:
    """Value and slope of the row-th answer as a batch of its own; (nan, nan) if the value is nan."""
    one = {name: tensor[row : row + 1].detach().clone() for name, tensor in inputs.items()}
    one["log_pi"].requires_grad_()
    try:
        value, slope = audited.slope(one, finite=False)
    except LossError as error:
        if "returned nan" in str(error):
            return np.nan, np.nan
        if "does not depend" in str(error):
            return 0.0, 0.0
        raise
    return value, float(slope)


def slopes_at(audited: Audited, points: Sequence[float] | np.ndarray, *args: Any, **at: Any) -> np.ndarray:
    """Slopes of a one-token answer at each log ratio, (points,), up to a factor; options as in `_tokens`."""
    # All at once where answers add up: three of them have the slopes that they have alone.
    inputs, count = _tokens(points, *args, **at), len(points)
    checked = [0, count // 2, count - 1] if count > 3 else range(count)
    alone = [_alone(audited, inputs, i)[1] for i in checked]
    if count <= 3:
        return np.array(alone)
    try:
        (slope,) = torch.autograd.grad(audited.loss(**inputs), inputs["log_pi"])
    except Exception:
        # What fails on a batch of several is evaluated alone.
        slope = torch.full((count, 1), np.nan)
    slopes = slope.double().numpy().reshape(-1)
    for times in (1.0, float(count)):
        if np.allclose(times * slopes[checked], alone, rtol=1e-6, atol=0.0):
            return times * slopes
    return np.array([_alone(audited, inputs, i)[1] for i in range(count)])


def extremes(audited: Audited) -> tuple[Finding, ...]:
    """Findings, one per dtype, on log ratios at which a one-token loss or its slope is not finite.

    The ratio is that to the reference, or, for a loss that takes none, to the old policy at advantages 1, -1.
    """
    to_old = "log_ref" not in audited.names and {"log_old", "advantages"} <= set(audited.names)
    ratio, advantages = ("pi/old", (1.0, -1.0)) if to_old else ("pi/ref", (0.0,))

    @cache
    def at(x: float, dtype: torch.dtype) -> np.ndarray:
        tokens = (_tokens([x], dtype, advantage=advantage, ratio=ratio) for advantage in advantages)
        return np.array([_alone(audited, inputs, 0) for inputs in tokens])

    def finite(dtype: torch.dtype, sign: float, size: float) -> bool:
        return bool(np.isfinite(at(sign * size, dtype)).all())

    by_dtype = []
    for dtype in DTYPES:
        low, high = (first_failure(partial(finite, dtype, sign), (0.0, *EXTREME)) for sign in (-1.0, 1.0))
        ends = (-np.inf if low is None else -low[0], np.inf if high is None else high[0])
        grid = (*(-x for x in EXTREME[::-1]), 0.0, *EXTREME)
        nan = tuple(x for x in grid if np.isnan(at(x, dtype)).any())
        bounds = [
            f"{side} {end:.3g}"
            for side, end in zip(("below", "above"), ends, strict=True)
            if np.isfinite(end)
        ]
        from_on = f", nan from |x| = {min(map(abs, nan)):g} on" if nan else ""
        words = f"at log({ratio}) {' and '.join(bounds)}{from_on}" if bounds or nan else ""
        data = {"dtype": str(dtype).removeprefix("torch."), "nan": nan, "finite": ends}
        by_dtype.append(Finding(words, {**data, "log_ratio": f"log({ratio})"}))
    return tuple(by_dtype)


def penalty_of(audited: Audited) -> Audited:
    """The penalty term alone if advantages of zero silence the whole gradient; otherwise the loss itself."""
    silenced = {"advantages", "log_ref"} <= set(audited.names) and not np.any(
        np.nan_to_num(slopes_at(audited, FINE))
    )
    if not silenced:
        return audited
    ones = audited.with_inputs(advantages=lambda inputs: torch.ones_like(inputs["advantages"]))
    return ones - ones.with_inputs(log_ref=lambda inputs: inputs["log_pi"].detach())


def _without_slope(
    audited: Audited, points: np.ndarray, dtype: torch.dtype = torch.float64, **at: Any
) -> np.ndarray:
    """Mask (points,) of the log ratios at which a token's slope is zero for every pi that is tried."""
    none = np.ones(len(points), dtype=bool)
    # Of a penalty two pairs of policies tell: where rounding swallows it, a third may leave a rest.
    for shift in SHIFTS if at else SHIFTS[:2]:
        if none.any():
            none[none] = slopes_at(audited, points[none], dtype, shift=shift, **at) == 0
    return none


def _zones(audited: Audited, points: np.ndarray, **at: Any) -> list[tuple[float, float]]:
    """Intervals (low, high) of log ratios with zero gradient; a single point is a corner of |x| or x^2."""
    steps = np.diff(_without_slope(audited, points, **at).astype(int), prepend=0, append=0)
    starts, ends = np.flatnonzero(steps > 0), np.flatnonzero(steps < 0) - 1

    def none(x: float) -> bool:
        return bool(_without_slope(audited, np.array([x]), **at)[0])

    def end(place: int, step: int) -> float:
        inside = float(points[place])
        if not 0 <= place + step < len(points):
            return inside
        outside = float(points[place + step])
        return round(bisected_boundary(none, inside, outside, 20), 6)

    return [(end(i, -1), end(j, 1)) for i, j in zip(starts.tolist(), ends.tolist(), strict=True) if j > i]


def stopped_ratios(audited: Audited) -> tuple[Finding, ...]:
    """Ratios, to three digits, at which a token of advantage 1 or -1 has zero gradient.

    The ratio is that to the old policy, or to the reference of a loss that takes no old policy.
    """
    ratios = {"log_old": "pi/old", "log_ref": "pi/ref"}
    ratio = next((ratios[name] for name in ratios if name in audited.names), None)
    if "advantages" not in audited.names or ratio is None:
        return ()
    stopped = []
    for advantage in (1.0, -1.0):
        for low, high in _zones(audited, POWERS, advantage=advantage, ratio=ratio):
            # To three digits, or of a ratio near one to two digits of the difference.
            least, most = (
                float(f"{np.exp(x):.3g}") if abs(x) > 0.01 else 1 + float(f"{np.exp(x) - 1:.2g}")
                for x in (low, high)
            )
            least, most = 0.0 if low == POWERS[0] else least, np.inf if high == POWERS[-1] else most
            stopped.append(_stopped(what=ratio, advantage=advantage, low=least, high=most))
    return tuple(stopped)


def _stopped(**data: Any) -> Finding:
    """Finding on an interval of ratios with zero gradient, in words such as: pi/old >= 1.2 if A > 0."""
    low, high, what = (data[name] for name in ("low", "high", "what"))
    interval = f"{low:.6g} <= {what} <= {high:.6g}"
    if np.isinf(high):
        interval = f"{what} >= {low:.6g}" if low > 0 else f"any {what}"
    elif low == 0:
        interval = f"{what} <= {high:.6g}"
    return Finding(f"{interval} if A {'>' if data['advantage'] > 0 else '<'} 0", data)


@dataclass(frozen=True)
class AtExtremes:
    """Findings on one token's loss, or its penalty: overflow, and intervals without gradient."""

    extremes: tuple[Finding, ...] = ()
    dead: tuple[tuple[float, float], ...] = ()

    @property
    def released_below(self) -> float:
        """Log ratio below which a clamp leaves a token no gradient; -inf if there is none."""
        return max((high for low, high in self.dead if low == POWERS[0]), default=-np.inf)


def at_extremes(audited: Audited) -> AtExtremes:
    """Find overflow and zero-gradient regions of a one-token loss at advantage zero."""
    penalty = penalty_of(audited)
    ratios = extremes(penalty)
    if not np.any(slopes_at(penalty, FINE)):
        return AtExtremes(ratios)
    return AtExtremes(ratios, tuple(_zones(penalty, POWERS)))


def computes_in(audited: Audited, problem: Problem) -> str:
    """Precision in which a loss computes, from the steps of its values along a line, such as float32."""
    inputs = audited.rows(audited.batch(problem), range(len(problem.token)), problem)
    direction = torch.cos(torch.arange(inputs["log_pi"].numel(), dtype=torch.float64))
    times = np.arange(8.0)

    def along(step: float) -> np.ndarray:
        moved = [inputs["log_pi"] + time * step * direction.reshape(inputs["log_pi"].shape) for time in times]
        return np.array([float(audited.value({**inputs, "log_pi": y}).detach()) for y in moved])

    values = along(1e-6)
    heights = np.abs(values - np.polyval(np.polyfit(times, values, 2), times)).max() / max(1, abs(values[0]))
    # In 16 bits a step of 1e-6 changes nothing, or a thousandth of the value.
    if heights > 1e-4 or (np.ptp(values) == 0 and np.ptp(along(1e-2)) > 0):
        return "16 bits"
    # In float64 what is left of a parabola is of order 1e-15; the stairs of float32 are 1e-7 high.
    return "float32" if heights > 1e-11 else "float64"
