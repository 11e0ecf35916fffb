"""B7: KL-DPG, whose reward is p_*/pi - 1, descends the forward KL to the filtered model."""

import numpy as np
import sympy

from ..binary_reward import filtered
from ..divergences import FORWARD_KL, REVERSE_KL
from ..estimators import reward_gradient
from ..fdivergence import u
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def policy_gradient(pi: Values, base: Values, valid: Values) -> Values:
    return reward_gradient(pi, filtered(base, valid) / pi - 1)


def downhill(pi: Values, base: Values, valid: Values) -> Values:
    return -FORWARD_KL.gradient(pi, filtered(base, valid))


def towards_base(pi: Values, base: Values) -> Values:
    return -REVERSE_KL.gradient(pi, base)


def verifier_reward(pi: Values, valid: Values) -> Values:
    return reward_gradient(pi, np.where(valid, 1 + 0 * pi, 0 * pi))


def derivation() -> Claims:
    # As in B7.gradient: the reward is -f'(u) up to a constant, at invalid outcomes (1/u = 0) as well.
    slope = sympy.Derivative(FORWARD_KL.expression, u)
    yield Claim("R + f'(u) is the same at every outcome", (1 / u - 1) + slope, equals=-1)


THEOREM = Theorem(
    name="B7.kldpg",
    title="KL-DPG's policy gradient is -grad KL(p_* || pi)",
    source=Source("go2023fdpg"),
    statement=r"E_\pi[(p_*/\pi - 1)\,\nabla\log\pi] = -\nabla\,\mathrm{KL}(p_*\|\pi)",
    relation=Relation.EQUAL,
    lhs=policy_gradient,
    rhs=downhill,
    instances=chart(pi=simplex(4), base=simplex(4), valid=masks(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".2 .3 .5", base=".3 .2 .5", valid=[True, True, False]),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("it descends the reverse KL to the base", rhs=towards_base),
        neighbour("the plain verifier reward does as well", lhs=verifier_reward),
        masses_clamped("base", 2e-11),
    ),
)
