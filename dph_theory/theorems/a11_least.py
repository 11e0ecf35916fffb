"""A11, fourth claim: the least rise of the log odds in a round, whose sign counts the fixed points."""

import numpy as np
import sympy

from ..grpo import least_rise
from ..numeric.balls import Values, logit
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def rise(base_rate: Values, beta: Values, current: Values) -> Values:
    """What one normalised round from p adds to the log odds."""
    return logit(base_rate) + 1 / (beta * np.sqrt(current * (1 - current))) - logit(current)


def derivation() -> Claims:
    # phi(L) = logit p' - L is strictly convex, with its minimum at sinh(L/2) = beta. It is positive at
    # L = logit p_ref and grows at both ends: two zeros if its minimum is negative, one if 0, else none.
    c, L = sympy.symbols("c L", real=True)
    beta = sympy.Symbol("beta", positive=True)
    phi = c + 2 * sympy.cosh(L / 2) / beta - L
    lowest = 2 * sympy.asinh(beta)
    yield Claim("convex", sympy.diff(phi, L, 2), ">0")
    yield Claim("stationary at sinh(L/2) = b", sympy.diff(phi, L).subs(L, lowest))
    yield Claim("value there", phi.subs(L, lowest) - (c + 2 * sympy.sqrt(1 + beta**2) / beta - lowest))
    yield Claim("positive at the base", phi.subs(L, c), ">0")


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
    examples=(
        example(base_rate=".1", beta=".75", current=".8"),
        example(base_rate=".2", beta=".75", current=".8"),
    ),
    symbolic=derivation,
    tight=True,
    digits=8,  # fewer would round rates near 1 to 1
    false_neighbours=(
        neighbour("a rise larger by .02", lhs=lambda base_rate, beta: least_rise(base_rate, beta) + 0.02),
        neighbour("every round raises the log odds", lhs=lambda base_rate: 0 * base_rate),
    ),
)
