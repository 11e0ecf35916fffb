"""A8, first claim: KL to the base splits into the cost of validity and two losses of diversity."""

import sympy

from ..binary_reward import excess_kl
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def total(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).total


def sum_of_parts(policy: Values, base: Values, valid: Values) -> Values:
    parts = excess_kl(policy, base, valid)
    return parts.validity + parts.valid + parts.invalid


def without_invalid(policy: Values, base: Values, valid: Values) -> Values:
    parts = excess_kl(policy, base, valid)
    return parts.validity + parts.valid


def derivation() -> Claims:
    # One outcome's contribution inside a part of policy mass Q and base mass A: q log(q/a) splits into
    # the part's share of kl(Q || A), q log(Q/A), and q log((q/Q)/(a/A)). Summed over outcomes and over
    # the two parts, the first gives kl(q(Y1) || A1) and the second the weighted inner divergences.
    q, a, Q, A = sympy.symbols("q a Q A", positive=True)
    yield Claim(
        "termwise", q * sympy.log(Q / A) + q * sympy.log((q / Q) / (a / A)), equals=q * sympy.log(q / a)
    )


THEOREM = Theorem(
    name="A8.decomposition",
    title="KL(q||a) = kl(q(Y1)||A1) + q(Y1) KL(q(.|Y1)||p_*) + q(Y0) KL(q(.|Y0)||p_0)",
    source=Source("ours", "chain rule"),
    statement=r"\mathrm{KL}(q\|a) = \mathrm{kl}(q(Y_1)\|A_1) + q(Y_1)\,\mathrm{KL}(q(\cdot|Y_1)\|p_*)"
    r" + q(Y_0)\,\mathrm{KL}(q(\cdot|Y_0)\|p_0)",
    relation=Relation.EQUAL,
    lhs=total,
    rhs=sum_of_parts,
    instances=chart(policy=simplex(5, zeros=True), base=simplex(5), valid=masks(5)),
    expected=Verdict.PROVED,
    examples=(example(policy=".3 .25 .25 .2", base=".15 .1 .45 .3", valid=[True, True, False, False]),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the invalid part dropped", rhs=without_invalid),
        near(0.01, policy=(0.14, 0.0003)),
    ),
)
