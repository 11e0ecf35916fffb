"""Behaviour at extreme log ratios: nan, overflow, dead zones, stopped slopes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .exact import Given, Loss, LossError, Problem, batch, call, rows, scalar_of
from .report import Extremes, Stopped

EXTREME = np.array([0.0, 1e-4, 1e-2, 1.0, 5.0, 10.0, 20.0, 40.0, 80.0, 85.0, 100.0, 300.0, 700.0, 1e3, 1e4])
GRID = np.concatenate([-EXTREME[:0:-1], EXTREME])
_FAR = np.arange(80.0, 701.0, 20.0)
FINE = np.concatenate([-_FAR[::-1], np.linspace(-60.0, 60.0, 241), _FAR])
"""Where dead zones are looked for, in float64: within it no generator's own gradient underflows.

What cancels there in float64, as the importance-corrected k3 does below x = -41, is found all the same.
"""
DTYPES = (torch.float32, torch.bfloat16)


SHIFT = 1.3
"""How far below their highest both log-probabilities stand, where a zero slope is looked at again."""

LARGE = 1e12
"""A value beyond which float64 may lose a slope of order one."""


def responses(
    loss: Loss, names: tuple[str, ...], points: np.ndarray, dtype: torch.dtype, **at: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Value and d/d log_pi of the loss of one token at each x, computed in the dtype; at: as `_tokens`."""
    given = _tokens(names, points, dtype, **at)
    try:
        return _at_once(loss, given)
    except Exception:
        # What cannot be vectorised, or fails, is evaluated point by point, and says why.
        return _one_by_one(loss, given)


def slopes_at(
    loss: Loss, names: tuple[str, ...], points: np.ndarray, dtype: torch.dtype, **at: Any
) -> np.ndarray:
    """The slopes alone, up to a factor: of what cannot be vectorised, in one batch where answers add up."""
    given = _tokens(names, points, dtype, **at)
    for way in (_at_once, _as_rows):
        try:
            return way(loss, given)[1]
        except Exception:
            continue
    return _one_by_one(loss, given)[1]


def _tokens(
    names: tuple[str, ...],
    points: np.ndarray,
    dtype: torch.dtype,
    *,
    shift: float = 0.0,
    advantage: float | None = None,
    of: str = "pi/old",
) -> Given:
    """A batch of one token for each x = log(pi/ref), (points, 1, 1).

    Neither log-probability is positive: log_pi = min(x, 0) - shift, log_ref = log_pi - x. The advantage is
    zero, so that what is seen is the divergence term, unless the loss ignores it. With an advantage, x is
    the log of the ratio `of`, and the third one is the policy.
    """
    x = torch.as_tensor(points, dtype=torch.float64)
    log_pi, other = ((y.clamp(max=0.0) - shift).to(dtype)[:, None, None] for y in (x, -x))
    given = {
        "log_pi": log_pi,
        "log_ref": other if advantage is None or of == "pi/ref" else log_pi,
        "log_old": log_pi - shift / 10 if advantage is None else log_pi if of == "pi/ref" else other,
        "advantages": torch.full_like(log_pi, advantage or 0.0),
        "mask": torch.ones_like(log_pi),
    }
    return {name: given[name] for name in names}


def _as_rows(loss: Loss, given: Given) -> tuple[np.ndarray, np.ndarray]:
    """All points as the answers of one batch; ValueError unless three of them have their slopes alone."""
    rows = {name: tensor[:, 0].clone() for name, tensor in given.items()}
    rows["log_pi"].requires_grad_()
    value = scalar_of(loss(**rows))
    (slope,) = torch.autograd.grad(value, rows["log_pi"])
    slopes, count = slope.double().numpy().reshape(-1), len(slope)
    some = [0, count // 2, count - 1]
    alone = _one_by_one(loss, {name: tensor[some] for name, tensor in given.items()})[1]
    for times in (1.0, float(count)):
        if np.allclose(times * slopes[some], alone, rtol=1e-6, atol=0.0):
            return np.full(count, float("nan")), times * slopes
    raise ValueError("its batch is no sum of its answers")


def _at_once(loss: Loss, given: Given) -> tuple[np.ndarray, np.ndarray]:
    def of_log_pi(log_pi: Tensor, others: Given) -> Tensor:
        value: Tensor = scalar_of(loss(**others, log_pi=log_pi))
        return value

    others = {name: tensor for name, tensor in given.items() if name != "log_pi"}
    log_pi = given["log_pi"].clone().requires_grad_()
    each = torch.vmap(of_log_pi)(log_pi, others)
    (slope,) = torch.autograd.grad(each.sum(), log_pi)
    values, slopes = (part.detach().double().numpy().reshape(-1) for part in (each, slope))
    return values, np.where(np.isnan(values), np.nan, slopes)


def _one_by_one(loss: Loss, given: Given) -> tuple[np.ndarray, np.ndarray]:
    values, slopes = [], []
    for i in range(len(given["log_pi"])):
        point = {name: tensor[i].clone() for name, tensor in given.items()}
        point["log_pi"].requires_grad_()
        try:
            value = call(loss, point)
        except LossError as error:
            if "returned nan" not in str(error):
                raise
            values.append(np.nan)
            slopes.append(np.nan)
            continue
        (slope,) = torch.autograd.grad(value, point["log_pi"], allow_unused=True)
        values.append(float(value.detach()))
        slopes.append(0.0 if slope is None else float(slope))
    return np.array(values), np.array(slopes)


def extremes(loss: Loss, names: tuple[str, ...]) -> tuple[Extremes, ...]:
    """Where value or slope of the loss of one token is nan or infinite, in each of DTYPES.

    Against the log ratio to the reference, or to the old policy of advantages 1 and -1 where it takes none.
    """
    to_old = "log_ref" not in names and {"log_old", "advantages"} <= set(names)
    ways: list[dict[str, Any]] = [{"advantage": a} for a in (1.0, -1.0)] if to_old else [{}]
    of = "log(pi/old)" if to_old else "log(pi/ref)"
    found = []
    for dtype in DTYPES:

        def parts(points: np.ndarray, dtype: torch.dtype = dtype) -> np.ndarray:
            return np.concatenate([responses(loss, names, points, dtype, **way) for way in ways])

        low = parts(GRID)
        finite, nan = np.isfinite(low).all(axis=0), tuple(GRID[np.isnan(low).any(axis=0)])
        ends = (_finite_end(parts, finite, -1.0), _finite_end(parts, finite, 1.0))
        found.append(Extremes(str(dtype).removeprefix("torch."), nan, ends, of))
    return tuple(found)


def _finite_end(parts: Callable[[np.ndarray], np.ndarray], finite: np.ndarray, sign: float) -> float:
    """The x on this side from which on value or slope is not finite, infinite where there is none."""
    side = [i for i in np.argsort(np.abs(GRID), kind="stable") if GRID[i] * sign > 0]
    first = next((k for k, i in enumerate(side) if not finite[i]), None)
    if first is None:
        return float(sign * np.inf)
    low, high = 0.0 if first == 0 else GRID[side[first - 1]], GRID[side[first]]
    for _ in range(4):
        points = np.linspace(low, high, 17)
        place = int(np.argmin(np.isfinite(parts(points)).all(axis=0)))
        low, high = points[max(place - 1, 0)], points[place]
    return float(low)


def penalty_of(loss: Loss, names: tuple[str, ...]) -> Loss:
    """What of a loss of advantages goes with the reference, if an advantage of zero silences all of it."""
    if not {"advantages", "log_ref"} <= set(names):
        return loss
    if np.any(np.nan_to_num(slopes_at(loss, names, FINE, torch.float64))):
        return loss

    def penalty(**given: Any) -> Any:
        ones = {**given, "advantages": torch.ones_like(given["advantages"])}
        return scalar_of(loss(**ones)) - scalar_of(loss(**{**ones, "log_ref": given["log_pi"].detach()}))

    return penalty


_FAR_OUT = np.arange(4.0, 31.0)
_X = np.concatenate([-_FAR_OUT[::-1], np.linspace(-3.0, 3.0, 121), _FAR_OUT])
"""Log ratios where stopped slopes are looked for; what is stopped at an end is so beyond it."""
_SHIFTS = (0.0, SHIFT, 5.0)
"""Three pairs (pi, old) at every ratio: a slope counts as stopped if it vanishes at all."""


def stopped_slopes(loss: Loss, names: tuple[str, ...]) -> tuple[Stopped, ...]:
    """The ratios, to three digits, at which a token of advantage 1 or -1 has no slope whatever pi is.

    The ratio to the old policy, or to the reference of a loss that takes no old policy.
    """
    of = {"log_old": "pi/old", "log_ref": "pi/ref"}
    base = next((of[name] for name in of if name in names), None)
    if "advantages" not in names or base is None:
        return ()
    return tuple(zone for advantage in (1.0, -1.0) for zone in _stopped(loss, names, advantage, base))


def _stopped(loss: Loss, names: tuple[str, ...], advantage: float, of: str) -> list[Stopped]:
    def zero(points: np.ndarray) -> np.ndarray:
        found = np.ones(len(points), dtype=bool)
        for shift in _SHIFTS:
            at = points[found]
            slopes = slopes_at(loss, names, at, torch.float64, shift=shift, advantage=advantage, of=of)
            found[found] = slopes == 0
            if not found.any():
                break
        return found

    def edge(stopped: float, alive: float) -> float:
        """Where the slope stops, by repeated division into 16 parts."""
        for _ in range(4):
            points = np.linspace(stopped, alive, 17)
            first = int(np.argmin(zero(points)))
            stopped, alive = points[first - 1], points[first]
        return float(np.exp(stopped))

    zones = []
    for start, end in runs(zero(_X)):
        # A single point is where an absolute value or a square has its corner.
        if end - start < 2:
            continue
        low = 0.0 if start == 0 else edge(_X[start], _X[start - 1])
        high = np.inf if end == len(_X) - 1 else edge(_X[end], _X[end + 1])
        zones.append(Stopped(of, advantage, float(f"{low:.3g}"), float(f"{high:.3g}")))
    return zones


@dataclass(frozen=True)
class Slopes:
    """The x = log(pi/ref) where a token gets no gradient: a clamp or constant, or rounding swallows it."""

    dead: tuple[tuple[float, float], ...] = ()
    rounded: tuple[tuple[float, float], ...] = ()


NO_SLOPES = Slopes()


def released_below(slopes: Slopes) -> float:
    """The log ratio below which a token has no gradient because a clamp acts; -inf if there is none."""
    return max((high for low, high in slopes.dead if low == FINE[0]), default=-np.inf)


def slopes_of(loss: Loss, names: tuple[str, ...]) -> Slopes:
    """Intervals of x without gradient (wider than one point), in float64; none if it vanishes everywhere.

    A point counts if the slope vanishes at it for two pairs (log_pi, log_ref). An interval that begins
    nearer to zero in float32 is rounding, the others are dead.
    """
    slopes = slopes_at(loss, names, FINE, torch.float64)
    if not np.any(slopes):
        return NO_SLOPES
    zero = _everywhere_zero(loss, names, FINE, slopes, torch.float64)
    zones = [(float(FINE[start]), float(FINE[end])) for start, end in runs(zero) if end > start]
    rounded = [zone for zone in zones if _is_rounding(loss, names, zone, zero)]
    return Slopes(tuple(zone for zone in zones if zone not in rounded), tuple(rounded))


def _everywhere_zero(
    loss: Loss, names: tuple[str, ...], points: np.ndarray, slopes: np.ndarray, dtype: torch.dtype
) -> np.ndarray:
    """Where the slopes are zero, also with both log-probabilities shifted."""
    zero = slopes == 0
    if zero.any():
        again = slopes_at(loss, names, points[zero], dtype, shift=SHIFT)
        zero[zero] = again == 0
    return zero


def runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """The first and the last place of each run of true entries."""
    steps = np.diff(flags.astype(int), prepend=0, append=0)
    starts, ends = np.flatnonzero(steps > 0), np.flatnonzero(steps < 0) - 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _is_rounding(loss: Loss, names: tuple[str, ...], zone: tuple[float, float], zero: np.ndarray) -> bool:
    """Whether the value is so large that the slope is lost in it, or float32 loses it nearer to zero."""
    inner = min(zone, key=abs)
    ends = responses(loss, names, np.array(zone), torch.float64)[0].tolist()
    # A clamp's value is one constant, however large.
    if ends[0] != ends[1] and abs(ends[zone.index(inner)]) > LARGE:
        return True
    # From the inner end towards zero, by a third: a clamp's end stays, rounding's moves by a factor of two.
    near = (
        (np.sign(FINE) == np.sign(inner)) & (np.abs(FINE) < abs(inner)) & (np.abs(FINE) > 0.67 * abs(inner))
    )
    points = FINE[near & ~zero]
    slopes = slopes_at(loss, names, points, torch.float32)
    return bool(_everywhere_zero(loss, names, points, slopes, torch.float32).any())


def computes_in(loss: Loss, names: tuple[str, ...], problem: Problem, source: str) -> str:
    """Float64, float32 or 16 bits, in these words: where it rounds what it is given, a line has stairs."""
    given = rows(batch(problem, problem.policy, source, names), range(len(problem.token)), problem)
    direction = torch.cos(torch.arange(given["log_pi"].numel(), dtype=torch.float64))
    direction = direction.reshape(given["log_pi"].shape)
    times = np.arange(8.0)

    def along(step: float) -> np.ndarray:
        moved = [given["log_pi"] + time * step * direction for time in times]
        return np.array([float(call(loss, {**given, "log_pi": y.requires_grad_()}).detach()) for y in moved])

    values = along(1e-6)
    heights = np.abs(values - np.polyval(np.polyfit(times, values, 2), times)).max() / max(1, abs(values[0]))
    # In 16 bits a step of 1e-6 changes nothing, or a thousandth of the value.
    if heights > 1e-4 or (np.ptp(values) == 0 and np.ptp(along(1e-2)) > 0):
        return "16 bits"
    # In float64 what is left of a parabola is of order 1e-15; the stairs of float32 are 1e-7 high.
    return "float32" if heights > 1e-11 else "float64"
