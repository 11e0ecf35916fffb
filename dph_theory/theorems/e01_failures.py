"""E1, sixth claim: how failures die as beta falls, for forward KL and alpha-divergences."""

from collections.abc import Callable

import numpy as np

from ..divergences import FORWARD_KL, alpha_divergence
from ..laws import best_response
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour

ALPHAS = {0.5: alpha_divergence(0.5), 1.0: FORWARD_KL, 2.0: alpha_divergence(2.0)}


def failures_over_rate(base_rate: Values, eps: float) -> Values:
    """(1 - mu) / (A0 (beta/alpha)^(1/alpha)) at beta = eps."""
    return _over(base_rate, eps, lambda alpha: (eps / alpha) ** (1 / alpha))


def over_linear(base_rate: Values, eps: float) -> Values:
    return _over(base_rate, eps, lambda alpha: eps / alpha)


def over_product(base_rate: Values, eps: float) -> Values:
    return _over(base_rate, eps, lambda alpha: (eps * alpha) ** (1 / alpha))


def _over(base_rate: Values, eps: float, rate: Callable[[float], float]) -> Values:
    masses = np.stack([base_rate, 1 - base_rate], axis=-1)
    value, beta = np.array([1.0, 0.0]), np.full(base_rate.shape, eps)
    failed = [best_response(masses, value, beta, divergence)[..., 1] for divergence in ALPHAS.values()]
    rates_ = [rate(alpha) for alpha in ALPHAS]
    return np.stack(failed, axis=-1) / (np.array(rates_) * (1 - base_rate)[:, None])


THEOREM = Theorem(
    name="E1.failures",
    title="Failures die as A0 (beta/alpha)^(1/alpha): linearly under forward KL (alpha = 1)",
    source=Source("ours", "laws of training"),
    statement=r"1 - \mu_\beta \sim A_0 (\beta/\alpha)^{1/\alpha} \text{ as } \beta \to 0",
    relation=Relation.TENDS,
    lhs=failures_over_rate,
    rhs=lambda base_rate: np.ones((len(base_rate), len(ALPHAS))),
    instances=chart(base_rate=rates(low=1e-1, high=1e-1)),
    expected=Verdict.HOLDS,
    examples=(example(base_rate=".25"),),
    certified=False,
    tolerance=1e-3,
    ladder=(1e-3, 1e-5, 1e-7, 1e-9),
    false_neighbours=(
        neighbour("linear for every alpha", lhs=over_linear),
        neighbour("(alpha beta)^(1/alpha)", lhs=over_product),
        near(1, base_rate=(0.51, 0.0001)),
    ),
)
