"""A11, third claim: at most two interior fixed points, since the fixed-point function is unimodal."""

import numpy as np
import sympy

from ..numeric.balls import Values, expit, highest, logit, lowest
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled


def level(base_rate: Values, log_odds: Values) -> Values:
    """h(L) = (L - logit p_ref) sqrt(p(1-p)) at p = expit(L): the 1/beta that fixes p."""
    return (log_odds - logit(base_rate)) * np.sqrt(expit(log_odds) * expit(-log_odds))


def outer(base_rate: Values, first: Values, second: Values, third: Values) -> Values:
    start = logit(base_rate) + first
    return np.stack([level(base_rate, L) for L in (start, start + second + third)], axis=-1)


def lower_of_outer(base_rate: Values, first: Values, second: Values, third: Values) -> Values:
    return lowest(outer(base_rate, first, second, third))


def between(base_rate: Values, first: Values, second: Values) -> Values:
    return level(base_rate, logit(base_rate) + first + second)


def derivation() -> Claims:
    # {L: h >= 1/beta} = {phi <= 0} for the phi below, which is strictly convex: an interval for each
    # beta. So h exceeds, between two points, the lower of them, and takes no value three times.
    L, c = sympy.symbols("L c", real=True)
    beta = sympy.Symbol("beta", positive=True)
    phi = c + 2 * sympy.cosh(L / 2) / beta - L
    h = (L - c) / (2 * sympy.cosh(L / 2))
    yield Claim("h - 1/b = -phi/(2 cosh(L/2))", h - 1 / beta, equals=-phi / (2 * sympy.cosh(L / 2)))
    yield Claim("phi'' > 0", sympy.Derivative(phi, (L, 2)), ">0")
    p = sympy.exp(L / 2) / (sympy.exp(L / 2) + sympy.exp(-L / 2))
    yield Claim(
        "p(1-p) = 1/(2 cosh(L/2))^2", p * (1 - p), equals=1 / (sympy.exp(L / 2) + sympy.exp(-L / 2)) ** 2
    )


THEOREM = Theorem(
    name="A11.unimodal",
    title="At most two interior fixed points: h(p) = (logit p - logit p_ref) sqrt(p(1-p)) is unimodal",
    source=Source("ours", "convexity in the log odds"),
    statement=r"p_{ref} < p_1 < p_2 < p_3 \;\Rightarrow\; h(p_2) > \min(h(p_1), h(p_3)),\quad"
    r" h(p) = (\operatorname{logit} p - \operatorname{logit} p_{ref})\sqrt{p(1-p)}",
    relation=Relation.AT_MOST,
    lhs=lower_of_outer,
    rhs=between,
    instances=chart(
        base_rate=rates(),
        first=log_uniform(1e-3, 30),
        second=log_uniform(1e-3, 30),
        third=log_uniform(1e-3, 30),
    ),
    expected=Verdict.PROVED,
    given=("L1.jensen",),
    examples=(example(base_rate=".1", first="2.5", second="1", third="2"),),
    symbolic=derivation,
    tight=True,
    digits=8,  # fewer would round rates near 1 to 1
    false_neighbours=(
        neighbour(
            "monotone: no less than the higher of the two",
            lhs=lambda base_rate, first, second, third: highest(outer(base_rate, first, second, third)),
        ),
        neighbour("2% above the lower of the two", lhs=scaled(lower_of_outer, 1.02)),
        neighbour("a right side 0.01% smaller", rhs=scaled(between, 0.9999)),
    ),
)
