"""Behaviour at extreme log ratios: nan, early overflow, dead zones, asymmetry."""

import numpy as np
import torch

from .exact import Loss, call
from .report import Extremes

EXTREME = np.array([0.0, 1e-4, 1e-2, 1.0, 5.0, 10.0, 20.0, 40.0, 80.0, 85.0, 100.0, 300.0, 700.0, 1e3, 1e4])
GRID = np.concatenate([-EXTREME[:0:-1], EXTREME])
_FAR = np.arange(80.0, 701.0, 20.0)
FINE = np.concatenate([-_FAR[::-1], np.linspace(-60.0, 60.0, 241), _FAR])
"""Where dead zones are looked for, in float64: within it no generator's own gradient underflows.

What cancels there in float64, as the importance-corrected k3 does below x = -41, is found all the same.
"""
DTYPES = (torch.float32, torch.bfloat16)


def responses(
    loss: Loss, names: tuple[str, ...], points: np.ndarray, dtype: torch.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Value and d/d log_pi of the loss of one token at each x = log(pi/ref), computed in the dtype.

    Neither log-probability is positive: log_pi = min(x, 0), log_ref = log_pi - x. The advantage is zero, so
    that what is seen is the divergence term, unless the loss ignores it.
    """
    values, slopes = [], []
    for x in points:
        log_pi = torch.full((1, 1), min(float(x), 0.0), dtype=dtype).requires_grad_()
        given = {
            "log_pi": log_pi,
            "log_ref": torch.full((1, 1), min(-float(x), 0.0), dtype=dtype),
            "log_old": log_pi.detach().clone(),
            "advantages": torch.zeros((1, 1), dtype=dtype),
            "mask": torch.ones((1, 1), dtype=dtype),
        }
        try:
            value = call(loss, {name: given[name] for name in names})
        except Exception as error:
            if "nan" not in str(error):
                raise
            values.append(np.nan)
            slopes.append(np.nan)
            continue
        (slope,) = torch.autograd.grad(value, log_pi, allow_unused=True)
        values.append(float(value.detach()))
        slopes.append(0.0 if slope is None else float(slope))
    return np.array(values), np.array(slopes)


def extremes(loss: Loss, names: tuple[str, ...]) -> tuple[Extremes, ...]:
    """Where the loss of one token is nan, or overflows although its float64 value fits the dtype."""
    exact = responses(loss, names, GRID, torch.float64)
    found = []
    for dtype in DTYPES:
        low = responses(loss, names, GRID, dtype)
        largest = torch.finfo(dtype).max
        nan, early = np.zeros(len(GRID), dtype=bool), np.zeros(len(GRID), dtype=bool)
        for mine, true in zip(low, exact, strict=True):
            nan |= np.isnan(mine)
            early |= np.isinf(mine) & (np.abs(np.nan_to_num(true, nan=np.inf)) < largest / 2)
        found.append(Extremes(str(dtype).removeprefix("torch."), tuple(GRID[nan]), tuple(GRID[early])))
    return tuple(found)


def dead_zones(loss: Loss, names: tuple[str, ...]) -> tuple[tuple[tuple[float, float], ...], float | None]:
    """Intervals of x with zero gradient (wider than one point), and |slope(+5)|/|slope(-5)|.

    No intervals and None for a loss whose gradient vanishes everywhere at zero advantage.
    """
    _, slopes = responses(loss, names, FINE, torch.float64)
    if not np.any(slopes):
        return (), None
    zones, start = [], None
    for i, zero in enumerate([*(slopes == 0), False]):
        if zero and start is None:
            start = i
        elif not zero and start is not None:
            if i - start > 1:
                zones.append((float(FINE[start]), float(FINE[i - 1])))
            start = None
    up, down = np.interp(5.0, FINE, np.abs(slopes)), np.interp(-5.0, FINE, np.abs(slopes))
    return tuple(zones), float(up / down) if down > 0 else None
