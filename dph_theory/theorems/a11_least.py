"""A11, fourth claim: the least rise of the log odds in a round, whose sign counts the fixed points."""

from typing import Any

import numpy as np
import sympy

from ..grpo import least_rise
from ..numeric.balls import Values, logit
from ..numeric.boxes import Scalar, linear, logarithmic
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.neighbours import rates_clamped
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import LOG_ODDS, base_of


def rise(base_rate: Values, beta: Values, current: Values) -> Values:
    """What one normalised round from p adds to the log odds."""
    return logit(base_rate) + 1 / (beta * np.sqrt(current * (1 - current))) - logit(current)


def derivation() -> Claims:
    # phi(L) = logit p' - L is strictly convex, stationary and so (L1.tangent) least at sinh(L/2) = beta. It
    # is positive at L = logit p_ref and positive far out on both sides: two zeros if its least value is
    # negative, one on each side (L1.between, and no third by convexity), one if it is 0, else none.
    c, L = sympy.symbols("c L", real=True)
    beta, far = sympy.symbols("beta far", positive=True)
    phi = c + 2 * sympy.cosh(L / 2) / beta - L
    slope = sympy.sinh(L / 2) / beta - 1
    yield Claim("convex", sympy.Derivative(phi, (L, 2)), ">0")
    yield Claim("its slope", sympy.Derivative(phi, L), equals=slope)
    lowest = 2 * sympy.asinh(beta)
    yield Claim("is zero at sinh(L/2) = b", sympy.sinh(lowest / 2) / beta, equals=1)
    value = c + 2 * sympy.sqrt(1 + beta**2) / beta - lowest
    yield Claim("value there", phi.subs(L, lowest), equals=value)
    yield Claim("positive at the base", phi.subs(L, c), ">0")
    yield Claim("positive to the left of the base", phi.subs(L, c - far), ">0")
    # 2 cosh(L/2) >= e^(L/2) >= (1 + L/4)^2, for L > 0 and with x = L/4.
    x, power = sympy.symbols("x power", positive=True)
    yield Claim("e^x >= 1 + x", sympy.exp(x) - 1 - x, ">=0")
    yield Claim("and its square", power**2 - (1 + x) ** 2, ">=0", where=(power >= 1 + x,))
    bound = c + (1 + L / 4) ** 2 / beta - L
    domain = (16 * beta + sympy.Abs(c) < L,)
    yield Claim("positive far to the right", bound, ">0", where=domain)


def around_the_least(log_odds: Scalar, c: Scalar, d: Scalar) -> dict[str, Any]:
    beta = ((c / 2).exp() - (-c / 2).exp()) / 2
    return {"base_rate": base_of(log_odds)[0], "beta": beta, "current": base_of(c + d)[0]}


def excess_rise(c: Scalar, d: Scalar) -> list[Scalar]:
    # 2 cosh(L/2)/b - L at L = c + d, less the same at L = c; b = sinh(c/2).
    less, change = (-c).exp(), (d / 2).exp()
    return [2 * (change - 1 + less * (1 / change - 1)) / (1 - less) - d]


THEOREM = Theorem(
    name="A11.least",
    title="A round raises the log odds by at least logit p_ref + 2 sqrt(1+1/b^2) - 2 arsinh b",
    source=Source("ours", "convexity in the log odds"),
    statement=r"\operatorname{logit} p_{n+1} - \operatorname{logit} p_n \ge"
    r" \operatorname{logit} p_{ref} + 2\sqrt{1 + \beta^{-2}} - 2\operatorname{arsinh}\beta"
    r"\quad (<0,\,=0,\,>0:\; 2, 1, 0 \text{ interior fixed points})",
    relation=Relation.AT_MOST,
    lhs=least_rise,
    rhs=rise,
    instances=chart(base_rate=rates(), beta=log_uniform(1e-3, 1e3), current=rates()),
    expected=Verdict.PROVED,
    given=("L1.tangent", "L1.between"),
    examples=(
        example(base_rate=".1", beta=".75", current=".8"),
        example(base_rate=".2", beta=".75", current=".8"),
    ),
    symbolic=derivation,
    tight=True,
    digits=8,  # fewer would round rates near 1 to 1
    reductions=(
        Reduction(
            "whatever the base rate: log odds 2 arsinh(b) + d of p, with c = 2 arsinh(b)",
            {"c": logarithmic("0.01", "12"), "d": linear("-30", "30")},
            around_the_least,
            gap=excess_rise,
            zero=("d", 2),
            free={"log_odds": LOG_ODDS},
        ),
    ),
    false_neighbours=(
        neighbour("a rise larger by .02", lhs=lambda base_rate, beta: least_rise(base_rate, beta) + 0.02),
        neighbour("every round raises the log odds", lhs=lambda base_rate: 0 * base_rate),
        rates_clamped("base_rate", 5e-12, "lhs"),
    ),
)
