"""A8, first claim: KL to the base splits into the cost of validity and two losses of diversity."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import sympy
from flint import arb

from ..binary_reward import excess_kl
from ..numeric.balls import Values
from ..numeric.boxes import Scalar, linear
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.reduction import Reduction
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


LEAST_TO_HALF = linear("-13.82", "-0.6931")
"""The logarithm of a mass from 1e-6 to 1/2."""


def and_rest(log: Scalar, exchanged: bool) -> tuple[list[Scalar], list[Scalar]]:
    """A mass and the rest of one, and their logarithms; exchanged or not."""
    masses = [log.exp(), 1 - log.exp()]
    logs = [log, masses[1].log()]
    return (masses[::-1], logs[::-1]) if exchanged else (masses, logs)


def three_outcomes(
    large: tuple[bool, bool], both: bool, log_policy: Scalar, log_base: Scalar, log_share: Scalar
) -> dict[str, Any]:
    """Two outcomes of the verdict `both`, of equal mass under the base, and one of the other verdict."""
    (pair, other), (base_pair, base_other) = (
        and_rest(log, far)[0] for log, far in zip((log_policy, log_base), large, strict=True)
    )
    shares, _ = and_rest(log_share, False)
    return {
        "policy": [*(pair * share for share in shares), other],
        "base": [base_pair / 2, base_pair / 2, base_other],
        "valid": [both, both, not both],
    }


def divergences(
    large: tuple[bool, bool], log_policy: Scalar, log_base: Scalar, log_share: Scalar
) -> list[tuple[Scalar, Scalar]]:
    """The sum over the three outcomes, and over the verdicts and inside of the pair."""
    (pair, other), q = and_rest(log_policy, large[0])
    _, a = and_rest(log_base, large[1])
    shares, logs = and_rest(log_share, False)
    even, rest = -arb(2).log(), other * (q[1] - a[1])
    outcomes = (share * (q[0] + log - a[0] - even) for share, log in zip(shares, logs, strict=True))
    within = (share * (log - even) for share, log in zip(shares, logs, strict=True))
    return [(pair * sum(outcomes) + rest, pair * (q[0] - a[0]) + rest + pair * sum(within))]


def reductions() -> Iterator[Reduction]:
    """For masses of the pair up to one half or from there, under the policy and under the base."""
    for large in ((False, False), (False, True), (True, False), (True, True)):
        sides = partial(divergences, large)
        smaller = ["the other" if exchanged else "the pair" for exchanged in large]
        for both, verdict in ((True, "valid"), (False, "invalid")):
            yield Reduction(
                f"two {verdict} outcomes, alike under the base, and one other; logarithms of masses up to one"
                f" half: under the policy of {smaller[0]}, under the base of {smaller[1]}, and of the smaller"
                " share of the pair under the policy",
                dict.fromkeys(("log_policy", "log_base", "log_share"), LEAST_TO_HALF),
                partial(three_outcomes, large, both),
                sides=sides,
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
    reductions=tuple(reductions()),
    false_neighbours=(
        neighbour("the invalid part dropped", rhs=without_invalid),
        masses_clamped("policy", 2e-11),
    ),
)
