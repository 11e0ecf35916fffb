"""The pass rate at a given beta, and its inverse, for a penalty on the whole answer or on one decision."""

from functools import cache

import numpy as np
import sympy

from ..divergences import REVERSE_KL
from ..fdivergence import FDivergence, u
from ..numeric.arrays import Scalars, first, positive, probability, rate, together
from ..numeric.balls import Values
from ..support.errors import argument_error
from .response import require_smooth, respond, slope


def validity_at(base_rate: Scalars, beta: Scalars, divergence: FDivergence = REVERSE_KL) -> Values:
    """The validity mu of max_pi E v - beta D_f(pi || a): f'(mu/A1) - f'((1-mu)/A0) = 1/beta, or mu = 1.

    mu = 1 where that has no root, which takes a finite f'(0+). Reverse KL: logit mu = logit A1 + 1/beta.
    Forward KL: -A1/mu + A0/(1-mu) = 1/beta. Pearson: mu = A1 + A0 A1/(2 beta). Base rates in [0, 1] (0 and 1
    stay), beta > 0; shapes broadcast. Source: ours, theory E1.
    """
    base_rate, beta = probability("base_rate", base_rate), positive("beta", beta)
    together(base_rate=base_rate, beta=beta)
    masses = np.stack([base_rate, 1 - base_rate], axis=-1)
    return respond(masses, np.array([1.0, 0.0]), beta, divergence).policy[..., 0]


def beta_at(base_rate: Scalars, validity: Scalars, divergence: FDivergence = REVERSE_KL) -> Values:
    """The beta at which a base rate A1 is raised to that validity: the inverse of `validity_at`.

    Shapes broadcast. Raises ValueError unless 0 < base_rate < validity < 1; validity 1 is allowed where
    f'(0+) is finite, and gives the largest beta that reaches it. Source: ours, theory E1.
    """
    require_smooth(divergence)
    base_rate, validity = rate("base_rate", base_rate), probability("validity", validity)
    together(base_rate=base_rate, validity=validity)
    floor = slope_at_zero(divergence)
    bad = (validity <= base_rate) | ((validity == 1) & np.isinf(floor))
    if bad.any():
        raise argument_error("validity", first(validity, bad), "above the base rate, and below one")
    return 1 / validity_pull(base_rate, validity, divergence)


def validity_pull(base_rate: Values, validity: Values, divergence: FDivergence) -> Values:
    """f'(mu/A1) - f'((1-mu)/A0), which a law of validity mu balances against 1/beta."""
    with np.errstate(divide="ignore"):
        failed = np.log1p(-validity) - np.log1p(-base_rate)
    low = slope(divergence, np.where(validity < 1, failed, 0.0))
    low = np.where(validity < 1, low, slope_at_zero(divergence))
    return slope(divergence, np.log(validity) - np.log(base_rate)) - low


@cache
def slope_at_zero(divergence: FDivergence) -> float:
    """f'(0+) - f'(1): finite where a finite beta already removes every failure, else -inf."""
    return float(sympy.limit(divergence.derivative, u, 0, "+")) - divergence.gauge
