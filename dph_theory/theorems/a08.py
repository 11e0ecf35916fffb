"""A8. The validity-KL frontier and the excess KL.

KL to the base is the cost of the validity, kappa, plus two losses of diversity, among valid and among
invalid answers. kappa is the frontier that no policy passes; what a run lost beyond it, the excess KL, can
be metered.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import sympy
from flint import arb

from ..binary_reward import bernoulli_kl, excess_kl, filtered, valid_mass
from ..divergences import REVERSE_KL
from ..numeric.balls import Values, normalised, trailing
from ..numeric.enclosures import Scalar, linear
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.theorem import Claim, FalseStep, Kernel, ScalarForm, Steps, neighbour, proved, scaled
from ._boxes import DROP, ODDS, RATE, Law, both_ways, chance, kl_to_first


def total(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).total


def sum_of_parts(policy: Values, base: Values, valid: Values) -> Values:
    parts = excess_kl(policy, base, valid)
    return parts.validity + parts.valid + parts.invalid


def without_invalid(policy: Values, base: Values, valid: Values) -> Values:
    parts = excess_kl(policy, base, valid)
    return parts.validity + parts.valid


def decomposition_steps() -> Steps:
    yield (
        "One outcome's contribution inside a part of policy mass Q and base mass A: q log(q/a) splits into "
        "the part's share of kl(Q || A), q log(Q/A), and q log((q/Q)/(a/A)). Summed over outcomes and over "
        "the two parts, the first gives kl(q(Y1) || A1) and the second the weighted inner divergences."
    )
    q, a, Q, A = sympy.symbols("q a Q A", positive=True)
    yield Claim(
        "termwise", q * sympy.log(Q / A) + q * sympy.log((q / Q) / (a / A)), equals=q * sympy.log(q / a)
    )
    yield FalseStep(
        "with the inner ratio turned over",
        q * sympy.log(Q / A) + q * sympy.log((a / A) / (q / Q)),
        equals=q * sympy.log(q / a),
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


def split_divergences(
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


def reductions() -> Iterator[ScalarForm]:
    """For masses of the pair up to one half or from there, under the policy and under the base."""
    for large in ((False, False), (False, True), (True, False), (True, True)):
        sides = partial(split_divergences, large)
        smaller = ["the other" if exchanged else "the pair" for exchanged in large]
        for both, verdict in ((True, "valid"), (False, "invalid")):
            yield ScalarForm(
                f"two {verdict} outcomes, alike under the base, and one other; logarithms of masses up to one"
                f" half: under the policy of {smaller[0]}, under the base of {smaller[1]}, and of the smaller"
                " share of the pair under the policy",
                dict.fromkeys(("log_policy", "log_base", "log_share"), LEAST_TO_HALF),
                partial(three_outcomes, large, both),
                sides=sides,
            )


DECOMPOSITION = proved(
    "A8.decomposition",
    "KL(q||a) = kl(q(Y1)||A1) + q(Y1) KL(q(.|Y1)||p_*) + q(Y0) KL(q(.|Y0)||p_0)",
    statement=r"\mathrm{KL}(q\|a) = \mathrm{kl}(q(Y_1)\|A_1) + q(Y_1)\,\mathrm{KL}(q(\cdot|Y_1)\|p_*)"
    r" + q(Y_0)\,\mathrm{KL}(q(\cdot|Y_0)\|p_0)",
    source=Source("ours", "chain rule"),
    on=chart(policy=simplex(5, zeros=True), base=simplex(5), valid=masks(5)),
    equal=(total, sum_of_parts),
    examples=(
        example(
            policy=".3 .25 .25 .2",
            base=".15 .1 .45 .3",
            valid=[True, True, False, False],
            value=".208977149289",
        ),
    ),
    kernel=Kernel("decomposition"),
    derivation=decomposition_steps,
    reductions=tuple(reductions()),
    false=(neighbour("the invalid part dropped", rhs=without_invalid),),
)


def least_cost(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).validity


def cost(policy: Values, base: Values, valid: Values) -> Values:
    return REVERSE_KL(policy, base)


def exchanged(policy: Values, base: Values, valid: Values) -> Values:
    return bernoulli_kl(valid_mass(base, valid), valid_mass(policy, valid))


def frontier_steps() -> Steps:
    yield (
        "KL(q||a) = kappa(q(Y1)) + q(Y1) KL(q(.|Y1)||p_*) + q(Y0) KL(q(.|Y0)||p_0) (A8.decomposition), and "
        "both divergences are at least zero (L1.gibbs)."
    )
    mass, inside, other, outside = sympy.symbols("mass inside other outside", nonnegative=True)
    yield Claim("the room", mass * inside + other * outside, ">=0")
    yield FalseStep("with a minus", mass * inside - other * outside, ">=0")


def two_valid(inner: Law, policy: Law, mu: Scalar, base_rate: Scalar) -> dict[str, Any]:
    return {
        "policy": [mu * policy[0], mu * policy[1], 1 - mu],
        "base": [base_rate * inner[0], base_rate * inner[1], 1 - base_rate],
        "valid": [True, True, False],
    }


FRONTIER = proved(
    "A8.frontier",
    "KL(q||a) >= kappa(q(Y1)), the validity-KL frontier",
    statement=r"\mathrm{KL}(q\|a) \ge \kappa(q(Y_1)) = \mathrm{kl}(q(Y_1)\|A_1)",
    source=Source("ours", "chain rule"),
    on=chart(policy=simplex(5, zeros=True), base=simplex(5), valid=masks(5)),
    at_most=(least_cost, cost),
    given=("A8.decomposition", "L1.gibbs"),
    kernel=Kernel("frontier"),
    derivation=frontier_steps,
    reductions=both_ways(
        "two valid outcomes, one invalid: the gap is q(Y1) times their inner divergence",
        {"odds": ODDS, "drop": DROP},
        two_valid,
        gap=lambda odds, drop: [kl_to_first(odds, drop)],
        factor=lambda odds, mu: [mu * chance(odds)],
        zero=("drop", 2),
        free={"mu": RATE, "base_rate": RATE},
    ),
    tight=example(policy="1 0 0 0 0", base=".09 .2 .31 .2 .2", valid=[True, False, False, False, False]),
    false=(
        neighbour(
            "a frontier 2% higher",
            at=example(
                policy="6e-6 0 0 .999994 0",
                base="2e-6 .399998 .1 .2 .3",
                valid=[True, False, False, True, False],
            ),
            lhs=scaled(least_cost, 1.02),
        ),
        neighbour(
            "kl with its arguments exchanged",
            at=example(
                policy="0 .3 .3 0 .4",
                base=".002 .99799997 1e-8 1e-8 1e-8",
                valid=[True, False, False, True, False],
            ),
            lhs=exchanged,
        ),
    ),
)


def whole_cost(policy: Values, base: Values) -> Values:
    return REVERSE_KL(policy, base)


def frontier_and_distance(policy: Values, base: Values, valid: Values) -> Values:
    return frontier(policy, base, valid) + REVERSE_KL(policy, tilted_to(policy, base, valid))


def frontier(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).validity


def tilted_to(policy: Values, base: Values, valid: Values) -> Values:
    """The base tilted by e^(v/beta) to the policy's validity: beta is negative below the base's own."""
    odds = [valid_mass(law, valid) / valid_mass(law, ~valid) for law in (policy, base)]
    return normalised(np.where(valid, base * trailing(odds[0] / odds[1], 1), base))


def distance_to_filtered_mixture(policy: Values, base: Values, valid: Values) -> Values:
    """The same with the whole base in the place of its invalid part."""
    mu = trailing(valid_mass(policy, valid), 1)
    mixture = mu * filtered(base, valid) + (1 - mu) * base
    return frontier(policy, base, valid) + REVERSE_KL(policy, mixture)


def equality_steps() -> Steps:
    yield (
        "The tilt is a mu/A1 on Y1 and a (1-mu)/A0 on Y0, that is mu p_* + (1-mu) p_0. Termwise log(q/a) is "
        "log(q/tilt) plus the log of that factor, whose mean under q is kl(mu||A1)."
    )
    m, k, q, a, r = sympy.symbols("m k q a r", positive=True)
    mu, A1 = 1 / (1 + m), 1 / (1 + k)
    odds = k / m
    Z = (1 - A1) + A1 * odds
    yield Claim("the tilt on Y1", odds / Z - mu / A1)
    yield Claim("the tilt on Y0", 1 / Z - (1 - mu) / (1 - A1))
    yield Claim("one outcome's term", sympy.log(q / a) - sympy.log(q / (a * r)) - sympy.log(r))
    yield FalseStep(
        "with the factor's sign turned", sympy.log(q / a) - sympy.log(q / (a * r)) + sympy.log(r), equals=0
    )
    yield (
        "So the cost beyond the frontier is a KL: never negative, and zero only where q is the tilt "
        "(L1.gibbs)."
    )


EQUALITY = proved(
    "A8.equality",
    "The cost beyond the frontier is KL(q || mu p_* + (1-mu) p_0): none iff q is that tilt of the base",
    statement=r"\mathrm{KL}(q\|a) - \mathrm{kl}(\mu\|A_1) ="
    r" \mathrm{KL}\big(q\,\|\,\mu p_* + (1-\mu) p_0\big),"
    r"\quad \mu = q(Y_1),\quad \mu p_* + (1-\mu) p_0 \propto a\,e^{v/\beta},\;"
    r" 1/\beta = \mathrm{logit}\,\mu - \mathrm{logit}\,A_1 \text{ of either sign}",
    source=Source("ours", "equality clause"),
    on=chart(policy=simplex(5), base=simplex(5), valid=masks(5)),
    equal=(whole_cost, frontier_and_distance),
    # Below the base's own validity, and on the frontier itself.
    examples=(
        example(policy=".1 .1 .4 .4", base=".15 .1 .45 .3", valid=[True, True, False, False]),
        example(policy=".35 .35 .15 .15", base=".2 .2 .3 .3", valid=[True, True, False, False]),
    ),
    kernel=Kernel("equality"),
    derivation=equality_steps,
    given=("L1.gibbs",),
    false=(
        neighbour("every policy is on the frontier", rhs=frontier),
        neighbour("the whole base in the place of its invalid part", rhs=distance_to_filtered_mixture),
    ),
)
