"""C4: training on correct samples (rehearsal) bounds the pass rate: J(pi) >= exp(-KL(p_* || pi))."""

import numpy as np
import sympy

from ..binary_reward import filtered, valid_mass
from ..divergences import FORWARD_KL, REVERSE_KL
from ..improvement import rehearsal_guarantee
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled


def guarantee(pi: Values, base: Values, valid: Values) -> Values:
    return rehearsal_guarantee(FORWARD_KL(pi, filtered(base, valid)))


def pass_rate(pi: Values, valid: Values) -> Values:
    return valid_mass(pi, valid)


def from_base(pi: Values, base: Values, valid: Values) -> Values:
    """The same with the base in place of the filtered model, as if all its samples were correct."""
    return np.exp(-FORWARD_KL(pi, base))


def from_reverse(pi: Values, base: Values) -> Values:
    return np.exp(-REVERSE_KL(pi, base))


def derivation() -> Claims:
    # With m = pi(Y1): KL(p_*||pi) = -log m + KL(p_*||pi(.|Y1)), termwise, and the last is non-negative: it is
    # a sum of p_* log s with s = p_* m/pi, log s >= 1 - 1/s, and the p_* (1 - 1/s) sum to 1 - 1 = 0.
    p, pi, m, s = sympy.symbols("p pi m s", positive=True)
    yield Claim("termwise", p * sympy.log(p / pi) + p * sympy.log(m) - p * sympy.log(p / (pi / m)))
    bound = sympy.log(s) - 1 + 1 / s
    yield Claim("log s - (1 - 1/s) vanishes at s = 1", bound.subs(s, 1))
    yield Claim("and falls before 1, rises after it", sympy.Derivative(bound, s) * s**2, equals=s - 1)


THEOREM = Theorem(
    name="C4.filtered",
    title="J(pi) >= exp(-KL(p_* || pi)): rehearsing correct samples bounds the pass rate",
    source=Source("ours"),
    statement=r"J(\pi) = \pi(Y_1) \ge e^{-\mathrm{KL}(p_*\|\pi)}",
    relation=Relation.AT_MOST,
    lhs=guarantee,
    rhs=pass_rate,
    instances=chart(pi=simplex(5), base=simplex(5), valid=masks(5)),
    expected=Verdict.PROVED,
    tight=True,
    examples=(example(pi=".3 .25 .25 .2", base=".15 .1 .45 .3", valid=[True, True, False, False]),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("a guarantee 2% higher", lhs=scaled(guarantee, 1.02)),
        neighbour("the reverse KL to the base", lhs=from_reverse),
        neighbour("rehearsing all samples of the base", lhs=from_base),
    ),
    note="So the DPH-F loss on correct samples, E_{p_*}[-log pi] = KL(p_*||pi) + H(p_*), bounds the pass rate"
    " on the rehearsed prompts from below.",
)
