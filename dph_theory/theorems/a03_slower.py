"""A3, sixth claim: the reverse KL penalty slows the loss of the base's mass, at every time."""

import sympy

from ..references import Source
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._laws import RUN, RUNS, lost_with_penalty, lost_without


def derivation() -> Claims:
    # KL(a || p) of the tilt a e^(vs)/Z is log Z - A1 s, which rises with s (L1.rising); and
    # (1 - e^(-bt))/b is at most t: the difference is zero at t = 0 and rises.
    s, t, b, A1, A0 = sympy.symbols("s t b A1 A0", positive=True)
    Z = A0 + A1 * sympy.exp(s)
    slope = A1 * (A0 + A1) * sympy.exp(s) / Z - A1
    yield Claim(
        "the slope of log Z, A0 + A1 = 1", sympy.Derivative(sympy.log(Z), s), equals=(slope + A1) / (A0 + A1)
    )
    yield Claim("less A1", slope, equals=A1 * A0 * (sympy.exp(s) - 1) / Z)
    yield Claim("is positive", sympy.exp(s) - 1, ">0")
    room = t - (1 - sympy.exp(-b * t)) / b
    yield Claim("no time, no delay", sympy.Subs(room, t, 0))
    yield Claim("the delay's slope", sympy.Derivative(room, t), equals=1 - sympy.exp(-b * t))
    yield Claim("is positive, too", 1 - sympy.exp(-b * t), ">0")


THEOREM = Theorem(
    name="A3.slower",
    title="At every time the policy has lost less of the base with the reverse KL penalty than without",
    source=Source("ours", "natural gradient"),
    statement=r"\mathrm{KL}(a\|q_t^{\beta}) \le \mathrm{KL}(a\|q_t^{0}),\quad"
    r" q_t^\beta \text{ from } a \text{ by the natural gradient of } E_q v - \beta\,\mathrm{KL}(q\|a)",
    relation=Relation.AT_MOST,
    lhs=lost_with_penalty,
    rhs=lost_without,
    instances=RUNS,
    expected=Verdict.PROVED,
    given=("A3.path", "A3.penalised", "L1.rising"),
    tight=True,
    examples=(RUN,),
    symbolic=derivation,
    false_neighbours=(
        neighbour("two parts in a thousand slower at least", rhs=scaled(lost_without, 0.998)),
        neighbour("a left side 0.02% larger", lhs=scaled(lost_with_penalty, 1.0002)),
        neighbour("at most half as fast", rhs=scaled(lost_without, 0.5)),
    ),
)
