"""B3, third claim: the estimator used on correct samples decides what its minimiser is, p_* or less of it."""

from collections.abc import Callable, Iterable

import numpy as np
import sympy

from ..binary_reward import valid_mass, with_validity
from ..divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence, alpha_generator
from ..estimators import k3_of_ratio, mean_on_filtered
from ..fdivergence import u
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Side, Theorem, Verdict, neighbour

HALF = alpha_divergence(0.5)
LOSSES = (FORWARD_KL.generator, k3_of_ratio, REVERSE_KL.generator, JENSEN_SHANNON.generator, HALF.generator)
"""As printed, of the ratio u = pi/base: -log u, k3, u log u, Jensen-Shannon, alpha = 1/2."""


def gains(pi: Values, base: Values, valid: Values) -> Values:
    """By how much every loss of pi is below the base policy's own, which is 0."""
    return -np.stack([mean_on_filtered(loss, pi, base, valid) for loss in LOSSES], axis=-1)


def table(base_rate: Values) -> tuple[Values, ...]:
    """The mass m on Y1 that each loss asks for."""
    whole = 0 * base_rate + 1
    return whole, base_rate, base_rate / np.exp(whole), base_rate, base_rate


def gains_at(masses: Iterable[Values], base: Values, valid: Values) -> Values:
    """The same, of every loss at its own policy m p_*."""
    policies = [with_validity(mass, base, valid) for mass in masses]
    pairs = zip(LOSSES, policies, strict=True)
    return -np.stack([mean_on_filtered(loss, pi, base, valid) for loss, pi in pairs], axis=-1)


def at_the_targets(base: Values, valid: Values) -> Values:
    return gains_at(table(valid_mass(base, valid)), base, valid)


def with_one_changed(index: int, mass: Callable[[Values], Values]) -> Side:
    """The right side with one entry of the table replaced by a function of A1."""

    def side(base: Values, valid: Values) -> Values:
        base_rate = valid_mass(base, valid)
        masses = list(table(base_rate))
        masses[index] = mass(base_rate)
        return gains_at(masses, base, valid)

    return side


def whole(base_rate: Values) -> Values:
    return 0 * base_rate + 1


def derivation() -> Claims:
    # Special cases of B3.minimiser: convex losses, stationary at m/A1, or falling up to the cap m = 1.
    rows = (
        ("k3", u - 1 - sympy.log(u), 1),
        ("u log u", REVERSE_KL.expression, sympy.exp(-1)),
        ("Jensen-Shannon", JENSEN_SHANNON.expression, 1),
        ("alpha", HALF.expression, 1),
    )
    for name, loss, ratio in rows:
        slope = sympy.Subs(sympy.Derivative(loss, u), u, ratio)
        yield Claim(f"{name} is stationary at m/A1 = {ratio}", slope)
        yield Claim(f"{name} is convex", sympy.Derivative(loss, (u, 2)), ">0")
    alpha = sympy.Symbol("alpha", real=True)
    domain = (sympy.Ne(alpha, 0), sympy.Ne(alpha, 1))
    family = sympy.Subs(sympy.Derivative(alpha_generator(alpha), u), u, 1)
    yield Claim("alpha as printed, every alpha: f'(1) = 0", family, where=domain)
    yield Claim("-log u falls for every u", -sympy.Derivative(FORWARD_KL.expression, u), ">0")
    yield Claim("-log u is convex", sympy.Derivative(FORWARD_KL.expression, (u, 2)), ">0")


THEOREM = Theorem(
    name="B3.targets",
    title="On correct samples -log u targets p_*, k3 mass A1, u log u mass A1/e, JS and alpha mass A1",
    source=Source("ours", "gauge on filtered samples"),
    statement=r"\arg\min_\pi E_{p_*}[f(u)] = m\,p_* \text{ on } Y_1:\; m = 1\;(-\log u),\; A_1\;(u-1-\log u),"
    r"\; A_1/e\;(u\log u),\; A_1\;(f_{JS}),\; A_1\;(f_\alpha)",
    relation=Relation.AT_MOST,
    lhs=gains,
    rhs=at_the_targets,
    instances=chart(pi=simplex(4), base=simplex(4), valid=masks(4)),
    expected=Verdict.PROVED,
    given=("B3.minimiser",),
    examples=(
        example(pi=".3 .25 .25 .2", base=".15 .1 .45 .3", valid=[True, True, False, False]),
        example(pi=".595 .4 .002 .003", base=".15 .1 .45 .3", valid=[True, True, False, False]),
    ),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("-log u targets the base's own pass rate", rhs=with_one_changed(0, lambda A1: A1)),
        neighbour("k3 targets p_*", rhs=with_one_changed(1, whole)),
        neighbour("u log u targets the base's own pass rate", rhs=with_one_changed(2, lambda A1: A1)),
        neighbour("Jensen-Shannon targets p_*", rhs=with_one_changed(3, whole)),
        neighbour("alpha targets p_*", rhs=with_one_changed(4, whole)),
        masses_clamped("base", 1e-7),
    ),
)
