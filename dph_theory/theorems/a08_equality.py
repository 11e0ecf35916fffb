"""A8, equality clause: what a policy costs beyond the frontier is its distance to a tilt of the base."""

import numpy as np
import sympy

from ..binary_reward import excess_kl, filtered, valid_mass
from ..divergences import REVERSE_KL
from ..numeric.balls import Values, normalised, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def cost(policy: Values, base: Values) -> Values:
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


def derivation() -> Claims:
    # The tilt is a mu/A1 on Y1 and a (1-mu)/A0 on Y0, that is mu p_* + (1-mu) p_0. Termwise log(q/a) is
    # log(q/tilt) plus the log of that factor, whose mean under q is kl(mu||A1).
    m, k, q, a, r = sympy.symbols("m k q a r", positive=True)
    mu, A1 = 1 / (1 + m), 1 / (1 + k)
    odds = k / m
    Z = (1 - A1) + A1 * odds
    yield Claim("the tilt on Y1", odds / Z - mu / A1)
    yield Claim("the tilt on Y0", 1 / Z - (1 - mu) / (1 - A1))
    yield Claim("one outcome's term", sympy.log(q / a) - sympy.log(q / (a * r)) - sympy.log(r))


THEOREM = Theorem(
    name="A8.equality",
    title="The cost beyond the frontier is KL(q || mu p_* + (1-mu) p_0): none iff q is that tilt of the base",
    source=Source("ours", "equality clause"),
    statement=r"\mathrm{KL}(q\|a) - \mathrm{kl}(\mu\|A_1) ="
    r" \mathrm{KL}\big(q\,\|\,\mu p_* + (1-\mu) p_0\big),"
    r"\quad \mu = q(Y_1),\quad \mu p_* + (1-\mu) p_0 \propto a\,e^{v/\beta},\;"
    r" 1/\beta = \mathrm{logit}\,\mu - \mathrm{logit}\,A_1 \text{ of either sign}",
    relation=Relation.EQUAL,
    lhs=cost,
    rhs=frontier_and_distance,
    instances=chart(policy=simplex(5), base=simplex(5), valid=masks(5)),
    expected=Verdict.PROVED,
    # Below the base's own validity, and on the frontier itself.
    examples=(
        example(policy=".1 .1 .4 .4", base=".15 .1 .45 .3", valid=[True, True, False, False]),
        example(policy=".35 .35 .15 .15", base=".2 .2 .3 .3", valid=[True, True, False, False]),
    ),
    symbolic=derivation,
    false_neighbours=(
        neighbour("every policy is on the frontier", rhs=frontier),
        neighbour("the whole base in the place of its invalid part", rhs=distance_to_filtered_mixture),
        masses_clamped("policy", 5e-11),
    ),
)
