"""Costs of one step: averages and divergences of laws of the next symbol, along the last axis."""

import math

import torch
from torch import Tensor

_NEAR = 0.03
"""Log-ratios closer to 0 than this are put into a series."""
_SERIES = [(-1.0) ** k / math.factorial(k) for k in range(7, 1, -1)]
"""Coefficients of e^-x - 1 + x, from x^7 down to x^2: relative accuracy 1e-13 for |x| < 0.03."""


def average(log_p: Tensor, p: Tensor, cost: Tensor) -> Tensor:
    """sum_x p(x) cost(x) for costs up to +inf: infinite where an infinite cost is possible, 0 inf = 0."""
    infinite = cost == torch.inf
    finite = (p * cost.masked_fill(infinite, 0.0)).sum(-1)
    # Possible means p > 0 in exact arithmetic, even where exp has underflowed.
    return finite.masked_fill((infinite & (log_p > -torch.inf)).any(-1), torch.inf)


def entropy_row(log_p: Tensor, p: Tensor) -> Tensor:
    """-sum_x p log p, with 0 log 0 = 0."""
    return -(p * log_p.nan_to_num(neginf=0.0)).sum(-1)


def kl_row(log_p: Tensor, p: Tensor, log_q: Tensor) -> Tensor:
    """KL(p || q) = sum_x p log(p/q) - p + q, whose terms are all >= 0: relatively accurate to 1e-12 or so.

    Smooth, so that autograd's second derivatives are right also at p = q.
    """
    q, x = log_q.exp(), log_p - log_q
    # x is nan where both vanish, +inf where only q does; where only p does, any x that is not near will do.
    x = x.nan_to_num(nan=0.0, posinf=torch.inf, neginf=-1.0)
    impossible = x.amax(-1) == torch.inf
    x = x.nan_to_num(posinf=0.0)
    series = torch.full((), _SERIES[0], dtype=x.dtype)
    for coefficient in _SERIES[1:]:
        series = torch.addcmul(torch.full((), coefficient, dtype=x.dtype), series, x)
    terms = torch.where(x.abs() < _NEAR, p * x * (series * x), torch.addcmul(q, p, x - 1))
    return terms.sum(-1).masked_fill(impossible, torch.inf)
