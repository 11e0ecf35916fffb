"""B1: the alpha family joins the two KLs, with an explicit rate: alpha -> 1 forward, alpha -> 0 reverse."""

import numpy as np
import sympy

from ..divergences import FORWARD_KL, REVERSE_KL, alpha_divergence
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled

LADDER = (0.25, 0.5, 0.75, 1 - 2**-10, 2**-10)
"""Dyadic values of alpha, so that balls take them exactly."""


def distances_to(at_one: Values, at_zero: Values, pi: Values, ref: Values) -> Values:
    """|at_one - alpha D_alpha| and |at_zero - (1-alpha) D_alpha| along the ladder."""
    values = [(alpha, alpha_divergence(alpha)(pi, ref)) for alpha in LADDER]
    near_one = [abs(at_one - alpha * value) for alpha, value in values]
    near_zero = [abs(at_zero - (1 - alpha) * value) for alpha, value in values]
    return np.stack(near_one + near_zero, axis=-1)


def distances(pi: Values, ref: Values) -> Values:
    return distances_to(FORWARD_KL(pi, ref), REVERSE_KL(pi, ref), pi, ref)


def exchanged(pi: Values, ref: Values) -> Values:
    return distances_to(REVERSE_KL(pi, ref), FORWARD_KL(pi, ref), pi, ref)


def rates_of(spread: Values) -> Values:
    return np.stack([(1 - a) / 2 * spread for a in LADDER] + [a / 2 * spread for a in LADDER], axis=-1)


def larger(pi: Values, ref: Values) -> Values:
    return np.where(np.asarray(pi > ref).astype(bool), pi, ref)


def rates(pi: Values, ref: Values) -> Values:
    return rates_of((larger(pi, ref) * np.square(np.log(pi / ref))).sum(axis=-1))


def rates_without_policy(pi: Values, ref: Values) -> Values:
    return rates_of((ref * np.square(np.log(pi / ref))).sum(axis=-1))


def derivation() -> Claims:
    # With e = 1 - alpha and x = log u, alpha D_alpha = E_ref[(1 - u^e)/e], so that
    # KL(ref||pi) - alpha D_alpha = E_ref[(e^{ex} - 1 - ex)/e]. Pointwise 0 <= e^y - 1 - y and
    # e^y - 1 - y <= max(1, e^y) y^2/2, which at y = ex gives at most (e/2) E_ref[max(1, u) x^2], that is
    # (e/2) sum max(ref, pi) x^2. Exchanging pi and ref sends alpha to 1 - alpha (B1.reversal) and leaves the
    # sum as it is: the other half.
    e, p, q = sympy.symbols("e p q", positive=True)
    s = sympy.Symbol("s", nonnegative=True)
    power = (p / q) ** e
    family = (power - e * p / q - (1 - e)) / (e * (e - 1))
    # The terms of the two sides differ by a multiple of pi - ref, which sums to zero.
    yield Claim("alpha D_alpha", (1 - e) * q * family - q * (1 - power) / e - (p - q), where=(e < 1,))
    for text, y, factor in (("y > 0", s, sympy.exp(s)), ("y < 0", -s, sympy.Integer(1))):
        remainder = sympy.exp(y) - 1 - y
        room = factor * s**2 / 2 - remainder
        for side, order in ((remainder, 2), (room, 2 if y is s else 3)):
            for k in range(order):
                at_zero = sympy.Subs(sympy.Derivative(side, (s, k)) if k else side, s, 0)
                yield Claim(f"{text}: derivative {k} vanishes at 0", at_zero)
            nth = sympy.Derivative(side, (s, order))
            yield Claim(f"{text}: derivative {order} is not negative", nth, ">=0")


THEOREM = Theorem(
    name="B1.limits",
    title="alpha D_alpha -> KL(ref||pi) as alpha -> 1, (1-alpha) D_alpha -> KL(pi||ref) as alpha -> 0",
    source=Source("ours", "rate of the known limits"),
    statement=r"|\mathrm{KL}(\pi_{ref}\|\pi) - \alpha D_\alpha| \le \tfrac{1-\alpha}{2} S,\quad"
    r" |\mathrm{KL}(\pi\|\pi_{ref}) - (1-\alpha) D_\alpha| \le \tfrac{\alpha}{2} S,\quad"
    r" S = \sum_y \max(\pi,\pi_{ref}) \log^2\tfrac{\pi}{\pi_{ref}}",
    relation=Relation.AT_MOST,
    lhs=distances,
    rhs=rates,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.PROVED,
    given=("B1.reversal", "L1.rising"),
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("the rates cut by 2%", rhs=scaled(rates, 0.98), floor=1e-9),
        neighbour("the ref mass in place of the larger mass", rhs=rates_without_policy),
        neighbour("the two limits exchanged", lhs=exchanged),
        neighbour("a right side 0.05% smaller", rhs=scaled(rates, 0.9995)),
    ),
)
