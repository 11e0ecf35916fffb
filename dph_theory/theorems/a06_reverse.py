"""A6, fourth sense: the KL to the filtered model is infinite at every beta, so that cannot be the target."""

import numpy as np
import sympy
from flint import arb

from ..binary_reward import filtered, tilted
from ..divergences import FORWARD_KL, REVERSE_KL
from ..numeric.balls import Values, is_ball
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def to_filtered(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """From the tilted model, and from any policy of full support."""
    target = filtered(base, valid)
    return np.stack([REVERSE_KL(q, target) for q in (tilted(base, valid, beta), policy)], axis=-1)


def infinity(beta: Values) -> Values:
    return np.full((len(beta), 1), arb.pos_inf() if is_ball(beta) else np.inf)


def finite_near_one(beta: Values) -> Values:
    return np.where(abs(beta[:, None] - 1) > 0.01, infinity(beta), 0 * beta[:, None])


def from_filtered(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    target = filtered(base, valid)
    return np.stack([FORWARD_KL(q, target) for q in (tilted(base, valid, beta), policy)], axis=-1)


def from_conditional(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """Policies whose invalid mass has been removed."""
    cleaned = (filtered(q, valid) for q in (tilted(base, valid, beta), policy))
    return np.stack([REVERSE_KL(q, filtered(base, valid)) for q in cleaned], axis=-1)


def derivation() -> Claims:
    # On Y0 p_* = 0 while p_b = a/Z > 0. One term q log(q/r) exceeds any bound B as r -> 0, and all others are
    # at least q - r (L1.logarithm), together at least -1: the sum is infinite. The same for any q > 0.
    q, r, more = sympy.symbols("q r more", positive=True)
    B = sympy.Symbol("B", real=True)
    Z, a = sympy.symbols("Z a", positive=True)
    yield Claim("an invalid outcome keeps mass at every beta", a / Z, ">0")
    small = q * sympy.exp(-(B + more) / q)
    yield Claim("its term exceeds B from r = q e^(-B/q) down", q * sympy.log(q / small) - B, ">0")
    s = q / r
    yield Claim("each other term is at least q - r", q * (1 - 1 / s), equals=q - r)


THEOREM = Theorem(
    name="A6.reverse",
    title="KL(p_beta||p_*) is infinite for every beta: p_* cannot be a reverse-KL target",
    source=Source("dymetman2026binary", "limits"),
    statement=r"\mathrm{KL}(p_\beta\|p_*) = +\infty \text{ for every } \beta > 0, \quad"
    r" \mathrm{KL}(q\|p_*) = +\infty \text{ for every } q > 0",
    relation=Relation.EQUAL,
    lhs=to_filtered,
    rhs=infinity,
    # Below beta = 1/700 the tilted model's invalid mass is under the smallest float.
    instances=chart(policy=simplex(4), base=simplex(4), valid=masks(4), beta=log_uniform(2e-3, 1e3)),
    expected=Verdict.PROVED,
    given=("L1.logarithm",),
    examples=(example(policy=".98 .02", base=".25 .75", valid=[True, False], beta=".01"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("finite within 1/100 of beta = 1", rhs=finite_near_one),
        neighbour("the directions exchanged", lhs=from_filtered),
        neighbour("for policies without invalid mass", lhs=from_conditional),
    ),
)
