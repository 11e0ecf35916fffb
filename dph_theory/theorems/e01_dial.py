"""E1, third claim: what beta does to the validity, for every f."""

import numpy as np

from ..divergences import SMOOTH, each
from ..fdivergence import FDivergence
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.neighbours import rates_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def reached(base_rate: Values, progress: Values) -> Values:
    """A validity above the base rate."""
    return base_rate + (1 - base_rate) * progress


def pull(divergence: FDivergence, base_rate: Values, mu: Values) -> Values:
    """f'(mu/A1) - f'((1-mu)/A0), the 1/beta whose law has validity mu."""
    slope = divergence.generator_derivative
    return slope(mu / base_rate) - slope((1 - mu) / (1 - base_rate))


def curvature_only(divergence: FDivergence, base_rate: Values, mu: Values) -> Values:
    """The same to first order, as if every divergence were its chi-squared."""
    gauge = divergence.generator_derivative
    one = 1 + 0 * mu
    step = one / 1024
    curvature = (gauge(one + step) - gauge(one - step)) / (2 * step)
    return curvature * (mu - base_rate) / (base_rate * (1 - base_rate))


def objective(divergence: FDivergence, base_rate: Values, mu: Values, gain: Values) -> Values:
    """gain mu - D_f((mu, 1-mu) || (A1, A0)), what the law maximises times 1/beta."""
    cost = divergence(np.stack([mu, 1 - mu], axis=-1), np.stack([base_rate, 1 - base_rate], axis=-1))
    return gain * mu - cost


def elsewhere(base_rate: Values, progress: Values, other: Values) -> Values:
    mu = reached(base_rate, progress)
    return each(lambda f: objective(f, base_rate, other, pull(f, base_rate, mu)), SMOOTH)


def at_the_law(base_rate: Values, progress: Values) -> Values:
    mu = reached(base_rate, progress)
    return each(lambda f: objective(f, base_rate, mu, pull(f, base_rate, mu)), SMOOTH)


def elsewhere_first_order(base_rate: Values, progress: Values, other: Values) -> Values:
    mu = reached(base_rate, progress)
    return each(lambda f: objective(f, base_rate, other, curvature_only(f, base_rate, mu)), SMOOTH)


def at_first_order(base_rate: Values, progress: Values) -> Values:
    mu = reached(base_rate, progress)
    return each(lambda f: objective(f, base_rate, mu, curvature_only(f, base_rate, mu)), SMOOTH)


THEOREM = Theorem(
    name="E1.dial",
    title="The validity at beta: f'(mu/A1) - f'((1-mu)/A0) = 1/beta, for every f",
    source=Source("ours", "laws of training; reverse and forward KL also in gxchen2025kl"),
    statement=r"\mu = \arg\max_m\, m - \beta D_f(m\|A_1) \iff f'(\mu/A_1) - f'((1-\mu)/A_0) = 1/\beta",
    relation=Relation.AT_MOST,
    lhs=elsewhere,
    rhs=at_the_law,
    instances=chart(
        base_rate=rates(low=1e-6, high=1e-3),
        progress=rates(low=1e-3, high=1e-3),
        other=rates(low=1e-3, high=1e-3),
    ),
    expected=Verdict.CERTIFIED,
    examples=(example(base_rate=".25", progress=".25", other=".6"),),
    digits=9,
    floor=1.0,
    false_neighbours=(
        neighbour(
            "to first order: 1/beta = f''(1) (mu - A1)/(A1 A0)", lhs=elsewhere_first_order, rhs=at_first_order
        ),
        rates_clamped("base_rate", 1e-06),
    ),
)
