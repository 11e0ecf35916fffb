"""C4: training on correct samples (rehearsal) bounds the pass rate: J(pi) >= exp(-KL(p_* || pi))."""

from typing import Any

import numpy as np
import sympy

from ..binary_reward import filtered, valid_mass
from ..divergences import FORWARD_KL, REVERSE_KL
from ..improvement import rehearsal_guarantee
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import DROP, ODDS, RATE, Law, both_ways, chance, kl_to_second


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
    # With m = pi(Y1): KL(p_*||pi) = -log m + KL(p_*||pi(.|Y1)), termwise, and the last is not negative
    # (L1.gibbs).
    p, pi, m = sympy.symbols("p pi m", positive=True)
    kl = sympy.Symbol("kl", nonnegative=True)
    split = -p * sympy.log(m) + p * sympy.log(p / (pi / m))
    yield Claim("termwise", p * sympy.log(p / pi), equals=split)
    yield Claim("e^-KL(p_*||pi) is at most m", m - sympy.exp(sympy.log(m) - kl), ">=0")


def two_valid(target: Law, inner: Law, m: Scalar, base_rate: Scalar) -> dict[str, Any]:
    base = [*(base_rate * mass for mass in target), 1 - base_rate]
    return {"pi": [*(m * mass for mass in inner), 1 - m], "base": base, "valid": [True, True, False]}


THEOREM = Theorem(
    name="C4.filtered",
    title="J(pi) >= exp(-KL(p_* || pi)): rehearsing correct samples bounds the pass rate",
    source=Source("ours"),
    statement=r"J(\pi) = \pi(Y_1) \ge e^{-\mathrm{KL}(p_*\|\pi)}",
    relation=Relation.AT_MOST,
    lhs=guarantee,
    rhs=pass_rate,
    instances=chart(pi=simplex(5, zeros=True), base=simplex(5), valid=masks(5)),
    expected=Verdict.PROVED,
    given=("L1.gibbs",),
    tight=True,
    examples=(example(pi=".3 .25 .25 .2", base=".15 .1 .45 .3", valid=[True, True, False, False]),),
    symbolic=derivation,
    reductions=both_ways(
        "two valid outcomes, one invalid: pi(Y1) less the guarantee is pi(Y1) (1 - e^-KL(p_* || pi(.|Y1)))",
        {"odds": ODDS, "drop": DROP},
        two_valid,
        gap=lambda odds, drop: [(1 - (-chance(odds) * kl_to_second(odds, drop)).exp()) / chance(odds)],
        factor=lambda odds, m: [m * chance(odds)],
        zero=("drop", 2),
        free={"m": RATE, "base_rate": RATE},
    ),
    false_neighbours=(
        neighbour("a guarantee 2% higher", lhs=scaled(guarantee, 1.02)),
        neighbour("the reverse KL to the base", lhs=from_reverse),
        neighbour("rehearsing all samples of the base", lhs=from_base),
        masses_clamped("pi", 1e-8),
    ),
    note="So the DPH-F loss on correct samples, E_{p_*}[-log pi] = KL(p_*||pi) + H(p_*), bounds the pass rate"
    " on the rehearsed prompts from below.",
)
