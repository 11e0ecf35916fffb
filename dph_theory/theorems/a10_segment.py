"""A10, tenth claim: over a segment of laws the minimiser moves without a jump, by a first-order condition."""

from functools import partial
from typing import Any

import numpy as np
import sympy

from ..binary_reward import valid_mass, with_validity
from ..divergences import REVERSE_KL
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, rates, simplex, uniform
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def with_far_end(base: Values, other: Values, valid: Values, gain: Values) -> dict[str, Any]:
    """The segment's far end: the other law's shape, and that share of the base's failures turned valid."""
    failing = valid_mass(base, ~valid)
    return {"far": with_validity(valid_mass(base, valid) + gain * failing, other, valid)}


def member(base: Values, far: Values, t: Values) -> Values:
    return (1 - trailing(t, 1)) * base + trailing(t, 1) * far


def price(base: Values, far: Values, valid: Values, t: Values) -> Values:
    """The 1/beta at which member t is chosen: the slope of KL(pi_t || a) over that of the validity."""
    slope = ((far - base) * np.log(member(base, far, t) / base)).sum(axis=-1)
    return slope / (valid_mass(far, valid) - valid_mass(base, valid))


def cost_of(base: Values, far: Values, valid: Values, t: Values, s: Values, factor: float = 1) -> Values:
    """KL(pi_s || a) - V(pi_s)/beta + V(a)/beta at the beta of t."""
    law = member(base, far, s)
    gained = s * (valid_mass(far, valid) - valid_mass(base, valid))
    return REVERSE_KL(law, base) - factor * price(base, far, valid, t) * gained


def cost_of_chosen(base: Values, far: Values, valid: Values, t: Values, factor: float = 1) -> Values:
    return cost_of(base, far, valid, t, t, factor)


def cost_of_end(base: Values, far: Values, valid: Values, t: Values) -> Values:
    return cost_of(base, far, valid, t, 1 + 0 * t)


def derivation() -> Claims:
    # K(t) = KL((1-t) a + t q || a) is strictly convex, so that of the costs K(s) - V(s)/b that of the one t
    # with K'(t) = V'/b is least (L1.tangent), and t moves continuously with 1/b = K'(t)/V'.
    a, q = sympy.symbols("a q", positive=True)
    t = sympy.Symbol("t", positive=True)
    law = (1 - t) * a + t * q
    term = law * sympy.log(law / a)
    below = (t < 1,)
    slope = (q - a) * sympy.log(law / a) + (q - a)
    yield Claim(
        "one outcome's slope; the q - a sum to 0", sympy.Derivative(term, t), equals=slope, where=below
    )
    curve = sympy.Derivative(slope, t)
    yield Claim("its curvature", curve * law, equals=(q - a) ** 2, where=below)
    yield Claim("is positive where a and q differ", law, ">0", where=below)


THEOREM = Theorem(
    name="A10.segment",
    title="From the base to a more valid law, member t of the segment wins at 1/beta = K'(t)/V': no jump",
    source=Source("ours", "a compact continuous family that is convex"),
    statement=r"\pi_t = (1-t)\,a + t\,q,\; V(q) > V(a):\quad"
    r" K(\pi_t) - V(\pi_t)/\beta \le K(\pi_s) - V(\pi_s)/\beta \text{ for all } s \in [0,1],"
    r"\quad 1/\beta = K'(t)/V',\; K(\pi) = \mathrm{KL}(\pi\|a)",
    relation=Relation.AT_MOST,
    lhs=cost_of_chosen,
    rhs=cost_of,
    instances=chart(
        base=simplex(4),
        other=simplex(4),
        valid=masks(4),
        gain=rates(low=1e-3, high=1e-3),
        t=rates(low=1e-3, high=1e-3),
        s=uniform(0, 1),
    ).deriving(with_far_end),
    expected=Verdict.PROVED,
    given=("L1.tangent",),
    examples=(
        example(
            base=".3 .2 .1 .4",
            other=".1 .4 .2 .3",
            valid=[True, True, False, False],
            gain=".5",
            t=".4",
            s=".9",
        ),
    ),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the most valid member, t = 1, already at that beta", lhs=cost_of_end),
        neighbour(
            "chosen at a beta 0.3% smaller",
            lhs=partial(cost_of_chosen, factor=1.003),
            rhs=partial(cost_of, factor=1.003),
        ),
    ),
    note="s = 1 is A10.validity's bound, V* - V <= beta (K* - K). As beta decreases t rises to 1: where q has"
    " every outcome of the base at the finite beta V'/K'(1), else only in the limit, as K'(1) is infinite.",
)
