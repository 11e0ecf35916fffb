"""B3, second claim: on correct samples the gauge c decides how much valid mass the loss asks for."""

from collections.abc import Iterable, Iterator

import numpy as np
import sympy

from ..binary_reward import valid_mass, with_validity
from ..divergences import COMPARED, FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, each
from ..estimators import mean_on_filtered
from ..fdivergence import FDivergence, u
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, simplex, uniform
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ..tokens import RatioLoss

HALF = COMPARED[-1]


def in_gauge(f: FDivergence, c: Values) -> RatioLoss:
    return lambda ratio: f.generator(ratio) + trailing(c, 1) * (ratio - 1)


def gains(pi: Values, base: Values, valid: Values, c: Values) -> Values:
    """By how much every loss of pi is below the base policy's own, which is 0."""
    return -each(lambda f: mean_on_filtered(in_gauge(f, c), pi, base, valid), COMPARED)


def stationary_ratios(c: Values) -> tuple[tuple[Values, Values], ...]:
    """The roots u of f'(u) + c = 0, and where there are any; elsewhere the loss falls for every u."""

    def root(value: Values, exists: Values) -> tuple[Values, Values]:
        exists = np.asarray(exists).astype(bool)
        return np.where(exists, value, 0 * c + 1), exists

    with np.errstate(divide="ignore"):
        return (
            root(1 / c, c > 0),
            root(np.exp(-1 - c), np.exp(c) > 0),
            root(1 / (2 * np.exp(c) - 1), 2 * np.exp(c) > 1),
            root((1 + c / 2) ** -2, c > -2),
        )


def target_masses(base: Values, valid: Values, c: Values) -> Iterator[Values]:
    """The masses m on Y1 with f'(m/A1) + c = 0, capped at 1, one for every loss."""
    base_rate = valid_mass(base, valid)
    for ratio, exists in stationary_ratios(c):
        inside = exists & np.asarray(ratio * base_rate < 1).astype(bool)
        yield np.where(inside, ratio * base_rate, 0 * c + 1)


def gains_at(masses: Iterable[Values], base: Values, valid: Values, c: Values) -> Values:
    """The same, of every loss at its own policy m p_*."""
    policies = [with_validity(mass, base, valid) for mass in masses]
    losses = [
        mean_on_filtered(in_gauge(f, c), pi, base, valid) for f, pi in zip(COMPARED, policies, strict=True)
    ]
    return -np.stack(losses, axis=-1)


def greatest_gains(base: Values, valid: Values, c: Values) -> Values:
    return gains_at(target_masses(base, valid, c), base, valid, c)


def gauge_ignored(base: Values, valid: Values, c: Values) -> Values:
    return gains_at(target_masses(base, valid, 0 * c), base, valid, c)


def always_the_filtered_model(base: Values, valid: Values, c: Values) -> Values:
    return gains_at([0 * c + 1] * len(COMPARED), base, valid, c)


def derivation() -> Claims:
    # f(u) + cu lies above its tangent at s = m/A1 (L1.tangent), whose slope is f'(s) + c. Averaged over
    # p_*, with E_{p_*}[u] = pi(Y1)/A1 <= 1/A1: if the root of f' = -c is below 1/A1, s is the root and the
    # slope is 0; else s = 1/A1, and the slope is at most 0 as f' rises (L1.rising). The loss at u = s, that
    # is pi = m p_* on Y1, is the least either way.
    mean_ratio, s = sympy.symbols("mean_ratio s", positive=True)
    slope = sympy.Symbol("slope", nonpositive=True)
    room = slope * (mean_ratio - s)
    yield Claim("the tangent's mean rises above f(s) + cs, capped", room, ">=0", where=(mean_ratio <= s,))
    # c written by a positive symbol wherever there is a root; without one f' + c < 0 for every u.
    c_of = {FORWARD_KL: s, REVERSE_KL: sympy.log(s), JENSEN_SHANNON: sympy.log((1 + s) / 2), HALF: s - 2}
    roots = {FORWARD_KL: 1 / s, REVERSE_KL: sympy.exp(-1) / s, JENSEN_SHANNON: 1 / s, HALF: 4 / s**2}
    for f in COMPARED:
        slope_at_root = sympy.Subs(sympy.Derivative(f.expression, u), u, roots[f])
        yield Claim(f"f' + c = 0, {f.name}", slope_at_root, equals=-c_of[f])
        yield Claim(f"f'' > 0, {f.name}", sympy.Derivative(f.expression, (u, 2)), ">0")
    # No root: f' stays below its limit at infinity, which is 0, log 2 and 2 in turn.
    yield Claim("f' < 0, forward_kl", -sympy.Derivative(FORWARD_KL.expression, u), ">0")
    jensen = sympy.Derivative(JENSEN_SHANNON.expression, u)
    yield Claim("f' = log 2 - log(1 + 1/u) < log 2", jensen, equals=sympy.log(2) - sympy.log(1 + 1 / u))
    yield Claim("as log(1 + 1/u) > 0", sympy.log(1 + 1 / u), ">0")
    yield Claim("f' < 2, alpha = 1/2", 2 - sympy.Derivative(HALF.expression, u), ">0")


THEOREM = Theorem(
    name="B3.minimiser",
    title="On correct samples f + c(u-1) has the minimiser m p_* on Y1, f'(m/A1) + c = 0, m capped at 1",
    source=Source("ours", "gauge on filtered samples"),
    statement=r"-E_{p_*}[f(u) + c(u-1)] \le -f(m/A_1) - c(m/A_1 - 1),\quad u = \pi/a,\quad"
    r" f'(m/A_1) + c = 0 \text{ or } m = 1,\quad \text{equality at } \pi = m p_* \text{ on } Y_1",
    relation=Relation.AT_MOST,
    lhs=gains,
    rhs=greatest_gains,
    instances=chart(pi=simplex(4), base=simplex(4), valid=masks(4), c=uniform(-3, 3)),
    expected=Verdict.PROVED,
    given=("L1.tangent", "L1.rising"),
    examples=(
        example(pi=".3 .25 .25 .2", base=".15 .1 .45 .3", valid=[True, True, False, False], c="1"),
        example(pi=".45 .3 .15 .1", base=".15 .1 .45 .3", valid=[True, True, False, False], c="-.5"),
    ),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("the gauge ignored", rhs=gauge_ignored),
        neighbour("p_* whatever the loss and the gauge", rhs=always_the_filtered_model),
        masses_clamped("base", 1e-6),
    ),
)
