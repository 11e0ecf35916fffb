"""C4: the guarantee is an equality exactly when pi has the ratios of p_* on the valid outcomes."""

import numpy as np
import sympy

from ..binary_reward import filtered, valid_mass
from ..divergences import FORWARD_KL
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, rates, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def of_the_right_shape(m: Values, base: Values, rest: Values, valid: Values) -> Values:
    """The policy m p_* on the valid outcomes, the rest distributed over the invalid ones in any way."""
    return trailing(m, 1) * filtered(base, valid) + trailing(1 - m, 1) * filtered(rest, ~valid)


def guarantee(m: Values, base: Values, rest: Values, valid: Values, pi: Values) -> Values:
    """Of the policy of the right shape, and of an arbitrary one."""
    target = filtered(base, valid)
    shaped = of_the_right_shape(m, base, rest, valid)
    return np.stack([np.exp(-FORWARD_KL(q, target)) for q in (shaped, pi)], axis=-1)


def rate_times_shape(m: Values, base: Values, valid: Values, pi: Values) -> Values:
    shape = np.exp(-FORWARD_KL(filtered(pi, valid), filtered(base, valid)))
    return np.stack([m, valid_mass(pi, valid) * shape], axis=-1)


def rates_alone(m: Values, pi: Values, valid: Values) -> Values:
    return np.stack([m, valid_mass(pi, valid)], axis=-1)


def derivation() -> Claims:
    # Summed over the valid outcomes the first term gives -log m and the second KL(p_*||pi(.|Y1)), which is
    # zero only for pi(.|Y1) = p_* (L1.gibbs).
    p, pi, m = sympy.symbols("p pi m", positive=True)
    yield Claim("termwise", p * sympy.log(p / pi) + p * sympy.log(m), equals=p * sympy.log(p / (pi / m)))
    yield Claim("of the right shape", sympy.log(p / (m * p)), equals=-sympy.log(m))


THEOREM = Theorem(
    name="C4.equality",
    title="exp(-KL(p_* || pi)) is pi(Y1) iff pi = m p_* on Y1, and else smaller by exp(-KL(p_* || pi(.|Y1)))",
    source=Source("ours"),
    statement=r"e^{-\mathrm{KL}(p_*\|\pi)} = \pi(Y_1)\,e^{-\mathrm{KL}(p_*\|\pi(\cdot|Y_1))},"
    r"\quad = \pi(Y_1) \iff \pi = m\,p_* \text{ on } Y_1",
    relation=Relation.EQUAL,
    lhs=guarantee,
    rhs=rate_times_shape,
    instances=chart(m=rates(), base=simplex(4), rest=simplex(4), valid=masks(4), pi=simplex(4)),
    expected=Verdict.PROVED,
    given=("L1.gibbs",),
    examples=(
        example(
            m=".55",
            base=".15 .1 .45 .3",
            rest=".1 .2 .3 .4",
            valid=[True, True, False, False],
            pi=".3 .25 .25 .2",
        ),
    ),
    symbolic=derivation,
    false_neighbours=(
        neighbour("equality whatever the shape on Y1", rhs=rates_alone),
        masses_clamped("base", 3.7e-11),
    ),
)
