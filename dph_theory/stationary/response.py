"""Best response to given values, argmax_p sum_y p(y) Q(y) - beta D_f(p || a), for any declared f.

With f normalised (f'(1) = 0) the maximiser is p = a u with f'(u) = (Q - lambda)/beta, and u = 0 if that lies
below f'(0+). The unknown is the ratio of the outcomes of greatest value, u_top in [1, 1/a(top)]; the other
slopes are f'(u_top) + (Q - max Q)/beta, so that a beta near zero costs no digits.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ..divergences import REVERSE_KL
from ..fdivergence import FDivergence
from ..numeric.arrays import Distribution, Scalars, distribution, finite, positive, require_common_shape
from ..numeric.elementary import Values, add_axes, normalised
from ..support.errors import argument_error
from ..support.record import readable

_LEAST_LOG_RATIO = -700.0  # Below this log-ratio u = p/a counts as zero.
_SLACK = 1e-9  # Widening of a bracket in log u, so that rounding cannot push the root out.


class Response(NamedTuple):
    """The maximiser (..., outcomes), and log p/a of its outcomes of greatest value (...)."""

    def __repr__(self) -> str:
        return readable(self)

    policy: np.ndarray
    top: Values


def best_response(
    reference: Distribution, value: Scalars, beta: Scalars, divergence: FDivergence = REVERSE_KL
) -> np.ndarray:
    """Maximise sum_y p(y) value(y) - beta D_f(p || reference) over distributions p.

    Reverse KL: p ~ a e^{value/beta}. Forward KL: p = beta a/(l - value), l the root that normalises p.

    Args:
        reference: Probabilities a, shape (..., outcomes); an outcome without mass gets none.
        value: Value of each outcome, in units of reward, same shape.
        beta: Coefficient of the divergence, positive, shape (...).
        divergence: A divergence with a smooth generator.

    Returns:
        The maximiser, shape (..., outcomes).

    Raises:
        ValueError: For a generator with a kink, whose maximiser need not be unique.

    Source: ours, entries `token_penalties`.
    """
    reference, value = distribution("reference", reference), finite("value", value)
    beta = positive("beta", beta)
    require_common_shape(reference=reference, value=value, beta=add_axes(beta, 1))
    return respond(reference, value, beta, divergence).policy


def respond(reference: np.ndarray, value: np.ndarray, beta: Values, divergence: FDivergence) -> Response:
    """`best_response` without checks, (..., outcomes), also for a reference with mass below one."""
    require_smooth(divergence)
    reference, value = np.broadcast_arrays(reference, value)
    best = np.where(reference > 0, value, -np.inf).max(axis=-1, keepdims=True)
    with np.errstate(over="ignore"):
        drop = np.where(reference > 0, np.minimum(value - best, 0.0), 0.0) / add_axes(beta, 1)
    reference = np.broadcast_to(reference, drop.shape)
    if divergence == REVERSE_KL:
        weight = reference * np.exp(drop)
        return Response(normalised(weight), -np.log(weight.sum(axis=-1)))
    if power_family(divergence) is not None:
        drop = drop / divergence.curvature
    rows, drops = (part.reshape(-1, drop.shape[-1]) for part in (reference, drop))
    top = _top_log_ratio(rows, drops, divergence)
    weight = rows * np.exp(_log_ratio(top[:, None], drops, divergence))
    return Response(normalised(weight.reshape(drop.shape)), top.reshape(drop.shape[:-1]))


def require_smooth(divergence: FDivergence) -> None:
    """Raise ValueError unless `divergence` is an FDivergence without a kink at u = 1."""
    if not isinstance(divergence, FDivergence):
        raise argument_error("divergence", divergence, "an FDivergence, such as dph_theory.FORWARD_KL")
    if not np.isfinite(divergence.curvature):
        raise argument_error("divergence", divergence.name, "a generator with a finite f''(1)")


def slope(divergence: FDivergence, log_ratio: Values) -> Values:
    """f'(u) - f'(1) at u = e^x for log-ratios x of any shape."""
    with np.errstate(over="ignore"):
        return np.exp(-log_ratio) * divergence.on_log_ratio(log_ratio, gauge="normalised").derivative


def _top_log_ratio(rows: np.ndarray, drops: np.ndarray, divergence: FDivergence) -> np.ndarray:
    """Log-ratio u (rows,) of the outcomes of greatest value at which a row's masses a u sum to one."""
    at_top = np.where(drops == 0, rows, 0.0).sum(axis=-1)

    def excess(top: np.ndarray, row: np.ndarray) -> np.ndarray:
        ratios = np.exp(_log_ratio(top[:, None], drops[row], divergence))
        return (rows[row] * ratios).sum(axis=-1) - 1

    highest = -np.log(at_top)
    return _root(excess, np.full_like(highest, -_SLACK), highest + _SLACK, np.arange(len(rows)))


@cache
def power_family(divergence: FDivergence) -> float | None:
    """Nonzero p with f'(u) - f'(1) = f''(1) (1 - u^-p)/p, as for alpha-divergences; None if none fits."""
    import sympy

    from ..fdivergence import u

    curved = sympy.diff(divergence.derivative, u)
    growth = sympy.nsimplify(sympy.simplify(u * sympy.diff(curved, u) / curved))
    return float(-1 - growth) if growth.is_number and growth != -1 else None


def _log_ratio(top: np.ndarray, drop: np.ndarray, divergence: FDivergence) -> np.ndarray:
    """Solve f'(u) = f'(e^top) + drop for log u, drop <= 0; -inf below f'(0+). Shapes broadcast."""
    # For a power family the slopes are those of f/f''(1).
    power = power_family(divergence)
    if power is not None:
        # u^-power is linear in the slope.
        with np.errstate(divide="ignore"):
            return -np.log(np.maximum(np.exp(-power * top) - power * drop, 0.0)) / power
    highest = slope(divergence, top)
    aim = highest + drop
    gone = slope(divergence, np.array(_LEAST_LOG_RATIO)) >= aim
    between = (aim < highest) & ~gone
    ratio = np.where(gone, -np.inf, np.broadcast_to(top, aim.shape))
    high = ratio[between]

    def gap(x: np.ndarray, to: np.ndarray) -> np.ndarray:
        # Compared by arcsinh, because slopes span three hundred decades.
        return np.arcsinh(np.maximum(slope(divergence, x), -1e300)) - np.arcsinh(np.maximum(to, -1e300))

    ratio[between] = _root(gap, np.full_like(high, _LEAST_LOG_RATIO), high, aim[between])
    return ratio


def _root(function: Callable, low: np.ndarray, high: np.ndarray, argument: np.ndarray) -> np.ndarray:
    from scipy.optimize import elementwise

    roots = elementwise.find_root(function, (low, high), args=(argument,))
    if not roots.success.all():
        raise ArithmeticError("no root was found: the generator's derivative does not increase")
    return roots.x
