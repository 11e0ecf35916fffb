"""B3. The gauge decides what correct samples rehearse.

f + c(u - 1) is one divergence under samples of the reference, but not on correct samples alone: there the
gauge c decides what is rehearsed. -log u aims at the filtered model, k3 at the base's own pass rate, u log
u at A1/e.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import sympy
from flint import arb

from ..binary_reward import filtered, valid_mass, with_validity
from ..divergences import (
    COMPARED,
    FORWARD_KL,
    JENSEN_SHANNON,
    REVERSE_KL,
    SMOOTH,
    TOTAL_VARIATION,
    alpha_divergence,
    alpha_generator,
    each,
)
from ..estimators import k2_of_ratio, k3_of_ratio, mean_on_filtered
from ..fdivergence import FDivergence, u
from ..numeric.balls import Values, highest, is_ball, lowest, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, simplex, uniform
from ..statement.theorem import Claim, FalseStep, Kernel, Side, Steps, derived, neighbour, proved, scaled
from ..tokens import RatioLoss, correct_ratios, filtered_token_loss, sequences
from ._lemmas import smooth_functions
from ._tokens import RUNS, RUNS_PAIR, SAMPLED, SAMPLED_PAIR


def declared(pi: Values, ref: Values) -> Values:
    return each(lambda divergence: divergence(pi, ref), SMOOTH)


def mean_loss(law: Values, pi: Values, ref: Values, c: Values) -> Values:
    """E_law[f(u) + c(u-1)] for every divergence."""
    ratio = pi / ref
    shift = trailing(c, 1) * (ratio - 1)
    return each(lambda divergence: (law * (divergence.generator(ratio) + shift)).sum(axis=-1), SMOOTH)


def in_a_gauge(pi: Values, ref: Values, c: Values) -> Values:
    return mean_loss(ref, pi, ref, c)


def gauge_steps() -> Steps:
    yield "One outcome's share of the gauge term is c (pi - ref), which sums to zero as ref > 0 everywhere."
    p, q = sympy.symbols("p q", positive=True)
    c = sympy.Symbol("c", real=True)
    yield Claim("one outcome's gauge term", q * c * (p / q - 1), equals=c * (p - q))
    yield FalseStep("with the sum", q * c * (p / q - 1), equals=c * (p + q))


GAUGE = proved(
    "B3.gauge",
    "f + c(u-1) is the same divergence under samples from ref",
    statement=r"E_{ref}[f(u) + c(u-1)] = D_f(\pi\|\pi_{ref}) \quad\text{for every } c",
    source=Source("ours", "gauge"),
    on=chart(pi=simplex(3), ref=simplex(3), valid=masks(3), c=uniform(-10, 10)),
    equal=(in_a_gauge, declared),
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6", valid=[True, True, False], c="1"),),
    kernel=Kernel("gauge", where=smooth_functions),
    derivation=gauge_steps,
    false=(
        neighbour(
            "on filtered samples, y ~ p_*",
            kernel=Kernel("gauge_on_correct_samples", where=smooth_functions),
            lhs=lambda pi, ref, valid, c: mean_loss(filtered(ref, valid), pi, ref, c),
            rhs=lambda pi, ref, valid, c: mean_loss(filtered(ref, valid), pi, ref, 0 * c),
        ),
        neighbour(
            "on samples from the policy",
            lhs=lambda pi, ref, c: mean_loss(pi, pi, ref, c),
            rhs=lambda pi, ref, c: mean_loss(pi, pi, ref, 0 * c),
        ),
    ),
)


HALF = alpha_divergence(0.5)


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


def best_ratios(base: Values, valid: Values, c: Values) -> list[dict[str, Any]]:
    """Every loss of the kernel's theorem, with its ratio u = m/A1."""
    ratios = (mass / valid_mass(base, valid) for mass in target_masses(base, valid, c))
    return [
        {"f": f.generator, "f1": f.generator_derivative, "u": u}
        for f, u in zip(COMPARED, ratios, strict=True)
    ]


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


def minimiser_steps() -> Steps:
    yield (
        "f(u) + cu lies above its tangent at s = m/A1 (L1.tangent), whose slope is f'(s) + c. Averaged over "
        "p_*, with E_{p_*}[u] = pi(Y1)/A1 <= 1/A1: if the root of f' = -c is below 1/A1, s is the root and "
        "the slope is 0; else s = 1/A1, and the slope is at most 0 as f' rises (L1.rising). The loss at u = "
        "s, that is pi = m p_* on Y1, is the least either way."
    )
    mean_ratio, s = sympy.symbols("mean_ratio s", positive=True)
    slope = sympy.Symbol("slope", nonpositive=True)
    room = slope * (mean_ratio - s)
    yield Claim("the tangent's mean rises above f(s) + cs, capped", room, ">=0", where=(mean_ratio <= s,))
    yield FalseStep("with a rising tangent", -slope * (mean_ratio - s), ">=0", where=(mean_ratio <= s,))
    yield "c written by a positive symbol wherever there is a root; without one f' + c < 0 for every u."
    c_of = {FORWARD_KL: s, REVERSE_KL: sympy.log(s), JENSEN_SHANNON: sympy.log((1 + s) / 2), HALF: s - 2}
    roots = {FORWARD_KL: 1 / s, REVERSE_KL: sympy.exp(-1) / s, JENSEN_SHANNON: 1 / s, HALF: 4 / s**2}
    for f in COMPARED:
        slope_at_root = sympy.Subs(sympy.Derivative(f.expression, u), u, roots[f])
        yield Claim(f"f' + c = 0, {f.name}", slope_at_root, equals=-c_of[f])
        yield Claim(f"f'' > 0, {f.name}", sympy.Derivative(f.expression, (u, 2)), ">0")
    yield "No root: f' stays below its limit at infinity, which is 0, log 2 and 2 in turn."
    yield Claim("f' < 0, forward_kl", -sympy.Derivative(FORWARD_KL.expression, u), ">0")
    jensen = sympy.Derivative(JENSEN_SHANNON.expression, u)
    yield Claim("f' = log 2 - log(1 + 1/u) < log 2", jensen, equals=sympy.log(2) - sympy.log(1 + 1 / u))
    yield Claim("as log(1 + 1/u) > 0", sympy.log(1 + 1 / u), ">0")
    yield Claim("f' < 2, alpha = 1/2", 2 - sympy.Derivative(HALF.expression, u), ">0")


MINIMISER = proved(
    "B3.minimiser",
    "On correct samples f + c(u-1) has the minimiser m p_* on Y1, f'(m/A1) + c = 0, m capped at 1",
    statement=r"-E_{p_*}[f(u) + c(u-1)] \le -f(m/A_1) - c(m/A_1 - 1),\quad u = \pi/a,\quad"
    r" f'(m/A_1) + c = 0 \text{ or } m = 1,\quad \text{equality at } \pi = m p_* \text{ on } Y_1",
    source=Source("ours", "gauge on filtered samples"),
    on=chart(pi=simplex(4), base=simplex(4), valid=masks(4), c=uniform(-3, 3)),
    at_most=(gains, greatest_gains),
    given=("L1.tangent", "L1.rising"),
    examples=(
        example(pi=".3 .25 .25 .2", base=".15 .1 .45 .3", valid=[True, True, False, False], c="1"),
        example(pi=".45 .3 .15 .1", base=".15 .1 .45 .3", valid=[True, True, False, False], c="-.5"),
    ),
    kernel=Kernel("minimiser", where=best_ratios),
    derivation=minimiser_steps,
    tight=example(pi=".002 .02 .974 .004", base=".03 .9 .04 .03", valid=[True, False, False, False], c="2"),
    false=(
        neighbour("the gauge ignored", rhs=gauge_ignored),
        neighbour("p_* whatever the loss and the gauge", rhs=always_the_filtered_model),
    ),
)


LOSSES = (FORWARD_KL.generator, k3_of_ratio, REVERSE_KL.generator, JENSEN_SHANNON.generator, HALF.generator)
"""As printed, of the ratio u = pi/base: -log u, k3, u log u, Jensen-Shannon, alpha = 1/2."""


def target_gains(pi: Values, base: Values, valid: Values) -> Values:
    """By how much every loss of pi is below the base policy's own, which is 0."""
    return -np.stack([mean_on_filtered(loss, pi, base, valid) for loss in LOSSES], axis=-1)


def table(base_rate: Values) -> tuple[Values, ...]:
    """The mass m on Y1 that each loss asks for."""
    whole = 0 * base_rate + 1
    return whole, base_rate, base_rate / np.exp(whole), base_rate, base_rate


def gains_at_target(masses: Iterable[Values], base: Values, valid: Values) -> Values:
    """The same, of every loss at its own policy m p_*."""
    policies = [with_validity(mass, base, valid) for mass in masses]
    pairs = zip(LOSSES, policies, strict=True)
    return -np.stack([mean_on_filtered(loss, pi, base, valid) for loss, pi in pairs], axis=-1)


def at_the_targets(base: Values, valid: Values) -> Values:
    return gains_at_target(table(valid_mass(base, valid)), base, valid)


def with_one_changed(index: int, mass: Callable[[Values], Values]) -> Side:
    """The right side with one entry of the table replaced by a function of A1."""

    def side(base: Values, valid: Values) -> Values:
        base_rate = valid_mass(base, valid)
        masses = list(table(base_rate))
        masses[index] = mass(base_rate)
        return gains_at_target(masses, base, valid)

    return side


def whole(base_rate: Values) -> Values:
    return 0 * base_rate + 1


def targets_steps() -> Steps:
    yield "Special cases of B3.minimiser: convex losses, stationary at m/A1, or falling up to the cap m = 1."
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
    yield FalseStep(
        "u log u is stationary at m/A1 = 1", sympy.Subs(sympy.Derivative(REVERSE_KL.expression, u), u, 1)
    )


NEARLY_THERE = example(pi=".595 .4 .002 .003", base=".15 .1 .45 .3", valid=[True, True, False, False])

TARGETS = derived(
    "B3.targets",
    "On correct samples -log u targets p_*, k3 mass A1, u log u mass A1/e, JS and alpha mass A1",
    statement=r"\arg\min_\pi E_{p_*}[f(u)] = m\,p_* \text{ on } Y_1:\; m = 1\;(-\log u),\; A_1\;(u-1-\log u),"
    r"\; A_1/e\;(u\log u),\; A_1\;(f_{JS}),\; A_1\;(f_\alpha)",
    source=Source("ours", "gauge on filtered samples"),
    on=chart(pi=simplex(4), base=simplex(4), valid=masks(4)),
    at_most=(target_gains, at_the_targets),
    given=("B3.minimiser",),
    examples=(
        example(pi=".3 .25 .25 .2", base=".15 .1 .45 .3", valid=[True, True, False, False]),
        NEARLY_THERE,
    ),
    derivation=targets_steps,
    tight=NEARLY_THERE,
    false=(
        neighbour("-log u targets the base's own pass rate", rhs=with_one_changed(0, lambda A1: A1)),
        neighbour("k3 targets p_*", rhs=with_one_changed(1, whole)),
        neighbour(
            "u log u targets the base's own pass rate",
            at=example(pi=".00006 .00002 .00006 .99986", base=".3 .1 .3 .3", valid=[True, True, True, False]),
            rhs=with_one_changed(2, lambda A1: A1),
        ),
        neighbour("Jensen-Shannon targets p_*", rhs=with_one_changed(3, whole)),
        neighbour("alpha targets p_*", rhs=with_one_changed(4, whole)),
    ),
)


def minus_log(ratio: Values) -> Values:
    """-log u, infinite at u = 0, in balls too."""
    empty = np.asarray(ratio == 0).astype(bool)
    infinite: Any = arb.pos_inf() if is_ball(ratio) else np.inf
    return np.where(empty, infinite, -np.log(np.where(empty, 1 + 0 * ratio, ratio)))


def both(
    loss: RatioLoss,
    pi_tokens: list[Values],
    base_tokens: list[Values],
    pi: Values,
    base: Values,
    valid: Values,
) -> Values:
    """The loss per token, and of the ratio of whole sequences."""
    tokens = filtered_token_loss(loss, pi_tokens, base_tokens, valid)
    return np.stack([tokens, mean_on_filtered(loss, pi, base, valid)], axis=-1)


def to_the_filtered_model(pi: Values, base: Values, valid: Values) -> Values:
    distance = FORWARD_KL(pi, filtered(base, valid))
    return (distance + np.log(valid_mass(base, valid)))[..., None]


def to_the_base(pi: Values, base: Values, valid: Values) -> Values:
    return (FORWARD_KL(pi, base) + np.log(valid_mass(base, valid)))[..., None]


def filtered_steps() -> Steps:
    yield (
        "One correct sequence of target mass a/A1; the last logarithm, weighted, sums to log A1. The tokens' "
        "ratios multiply to the sequence's, so that their -log add up to the same."
    )
    a, p, A1 = sympy.symbols("a p A1", positive=True)
    target = a / A1
    split = target * sympy.log(target / p) + target * sympy.log(A1)
    yield Claim("one sequence", -target * sympy.log(p / a), equals=split)
    yield FalseStep("without log A1", -target * sympy.log(p / a), equals=target * sympy.log(target / p))
    first, second = sympy.symbols("u_1 u_2", positive=True)
    yield "A prefix of any length and its next token."
    yield Claim("its tokens", sympy.log(first) + sympy.log(second), equals=sympy.log(first * second))


FILTERED = derived(
    "B3.filtered",
    "-log u on correct samples is forward KL to the filtered model, plus log A1",
    statement=r"E_{p_*}\Big[\sum_t -\log u_t\Big] = E_{p_*}[-\log u] = \mathrm{KL}(p_*\|\pi) + \log A_1,"
    r"\quad \text{so its minimiser is } p_*",
    source=Source("ours", "rehearsal on correct samples"),
    on=SAMPLED,
    equal=(partial(both, minus_log), to_the_filtered_model),
    given=("L1.gibbs",),
    examples=(SAMPLED_PAIR,),
    derivation=filtered_steps,
    false=(
        neighbour("k3 on the same samples", lhs=partial(both, k3_of_ratio)),
        neighbour("forward KL to the base", rhs=to_the_base),
    ),
)


TOKEN_LOSSES = (k3_of_ratio, k2_of_ratio, JENSEN_SHANNON.generator, HALF.generator, TOTAL_VARIATION.generator)
"""Non-negative, zero at u = 1 only: k3, k2 (not convex), Jensen-Shannon and alpha as printed, |u-1|/2."""


def of_the_policy(
    losses: Sequence[RatioLoss], pi_tokens: list[Values], base_tokens: list[Values], valid: Values
) -> Values:
    """The token losses of pi."""
    return each(lambda loss: filtered_token_loss(loss, pi_tokens, base_tokens, valid), losses)


def largest_term(pi_tokens: list[Values], base_tokens: list[Values], valid: Values) -> Values:
    """The largest term of one token of one correct sequence, weighted by p_*: zero only if u = 1 at all."""
    target = filtered(sequences(base_tokens), valid).reshape(base_tokens[-1].shape)
    ratios = [trailing(u, target.ndim - u.ndim) for u in correct_ratios(pi_tokens, base_tokens, valid)]

    def largest(loss: RatioLoss) -> Values:
        terms = np.stack([target * loss(ratio) for ratio in ratios], axis=-1)
        return highest(abs(terms.reshape(len(terms), -1)))

    return each(largest, TOKEN_LOSSES)


def of_the_base(losses: Sequence[RatioLoss], base_tokens: list[Values], valid: Values) -> Values:
    """The token losses at pi = a."""
    return of_the_policy(losses, base_tokens, base_tokens, valid)


def of_the_filtered_model(base_tokens: list[Values], valid: Values) -> Values:
    """The token losses at p_*, written as next-token tables; those of the base where it never comes."""
    after, tables = filtered(sequences(base_tokens), valid).reshape(base_tokens[-1].shape), list[Values]()
    for base in reversed(base_tokens):
        mass = after.sum(axis=-1)
        visited = trailing(np.asarray(mass > 0).astype(bool), 1)
        tables.insert(0, np.where(visited, after / np.where(visited, trailing(mass, 1), 1 + 0 * after), base))
        after = mass
    return of_the_policy(TOKEN_LOSSES, tables, base_tokens, valid)


def tokens_steps() -> Steps:
    yield (
        "A sum of non-negative terms, zero if and only if u_t = 1 at every token of every correct sequence: "
        "then pi(y) = prod pi(y_t|y_<t) = a(y) on Y1, and the mass there is A1. It remains that each f is "
        "such: it lies above its tangent at 1, strictly but at 1 (L1.tangent)."
    )
    functions = {
        "k3": u - 1 - sympy.log(u),
        "Jensen-Shannon": JENSEN_SHANNON.expression,
        "alpha = 1/2": HALF.expression,
    }
    for name, f in functions.items():
        yield Claim(f"f(1) = 0, {name}", sympy.Subs(f, u, 1))
        yield Claim(f"f'(1) = 0, {name}", sympy.Subs(sympy.Derivative(f, u), u, 1))
        yield Claim(f"f'' > 0, {name}", sympy.Derivative(f, (u, 2)), ">0")
    yield "k2 = x^2/2 and |u-1|/2 vanish at x = log u = 0 and u - 1 = 0 only."
    d = sympy.Symbol("d", real=True, nonzero=True)
    yield Claim("k2 > 0 at log u = d", d**2 / 2, ">0")
    yield Claim("|u-1|/2 > 0 at u = 1 + d", sympy.Abs(d) / 2, ">0")
    yield FalseStep("as much for log u", d, ">0")


TOKENS = derived(
    "B3.tokens",
    "Per token on correct samples, any f >= 0 zero only at u = 1 is least at pi = a on Y1, mass A1",
    statement=r"E_{p_*}\Big[\sum_t f(u_t)\Big] \ge \max_{y \in Y_1,\, t} |p_*(y) f(u_t)| \ge 0"
    r" \text{ with equality} \iff \pi = a \text{ on } Y_1,"
    r"\; \pi(Y_1) = A_1,\quad f \ge 0,\; f(u) = 0 \iff u = 1,\quad"
    r" u_t = \tfrac{\pi(y_t|y_{<t})}{a(y_t|y_{<t})}",
    source=Source("ours", "token level"),
    on=RUNS,
    at_most=(largest_term, partial(of_the_policy, TOKEN_LOSSES)),
    given=("L1.tangent",),
    examples=(RUNS_PAIR,),
    derivation=tokens_steps,
    false=(
        neighbour("least at p_*", lhs=of_the_filtered_model),
        neighbour(
            "-log u, which is negative beyond u = 1",
            lhs=partial(of_the_base, (FORWARD_KL.generator,)),
            rhs=partial(of_the_policy, (FORWARD_KL.generator,)),
        ),
        neighbour(
            "u log u, which is negative below u = 1",
            at=example(
                pi_first=".01 .99",
                pi_second=[".5 .5"],
                pi_third=[[".6 .4"]],
                base_first=".7 .3",
                base_second=[".98 .02"],
                base_third=[[".4 .6"]],
                correct=[True, True, False, False],
            ),
            lhs=partial(of_the_base, (REVERSE_KL.generator,)),
            rhs=partial(of_the_policy, (REVERSE_KL.generator,)),
        ),
    ),
)


def off_the_base_rate(pi: Values, base: Values, valid: Values) -> Values:
    law = filtered(base, valid)
    rarest = lowest(np.where(valid, law, 0 * law + 1))
    return rarest * np.square(np.log(valid_mass(pi, valid) / valid_mass(base, valid))) / 6


def off_one(pi: Values, base: Values, valid: Values) -> Values:
    law = filtered(base, valid)
    rarest = lowest(np.where(valid, law, 0 * law + 1))
    return rarest * np.square(np.log(valid_mass(pi, valid))) / 6


def mass_steps() -> Steps:
    yield (
        "pi(Y1)/A1 = E_{p_*}[u] lies between the least and the greatest ratio of a correct sequence, so its "
        "squared log is at most that of one of them, log u = x_1 + x_2 + x_3 over its tokens; its term of "
        "the loss is (x_1^2 + x_2^2 + x_3^2)/2 >= (x_1+x_2+x_3)^2/6, with a weight p_* of at least the "
        "rarest one's. T tokens: 2T for 6, and what is shorter goes on with x = 0."
    )
    low, high, t = sympy.symbols("low high t", positive=True)
    ends = (t < 1, low <= high)
    mean = (1 - t) * low + t * high
    yield Claim("a mean is not below the least ratio", mean - low, ">=0", where=ends)
    yield Claim("nor above the greatest", high - mean, ">=0", where=ends)
    least, middle, most = sympy.symbols("least middle most", real=True)
    highest = sympy.Max(least**2, most**2) - middle**2
    yield Claim("the squared log between two logs", highest, ">=0", where=(least <= middle, middle <= most))
    x, y, z = sympy.symbols("x_1 x_2 x_3", real=True)
    gap = (x**2 + y**2 + z**2) / 2 - (x + y + z) ** 2 / 6
    yield Claim("Cauchy", gap, equals=((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) / 6)
    yield FalseStep("for two tokens", (x**2 + y**2 + z**2) / 2 - (x + y + z) ** 2 / 4, ">=0")
    yield Claim("not negative", gap, ">=0")


MASS = derived(
    "B3.mass",
    "A small token loss k2 on correct samples holds the mass on Y1 near A1",
    statement=r"\frac{\min_{Y_1} p_*}{2T} \log^2\frac{\pi(Y_1)}{A_1}"
    r" \le E_{p_*}\Big[\sum_{t\le T} \tfrac12\log^2 u_t\Big],\quad T = 3",
    source=Source("ours", "token level"),
    on=RUNS,
    at_most=(off_the_base_rate, partial(filtered_token_loss, k2_of_ratio)),
    examples=(RUNS_PAIR,),
    derivation=mass_steps,
    tight=example(
        pi_first=".4 .6",
        pi_second=[".3 .7"],
        pi_third=[[".5 .5"]],
        base_first=".7 .3",
        base_second=[".5 .5"],
        base_third=[[".9 .1"]],
        correct=[True, False, False, False],
    ),
    false=(
        neighbour(
            "a bound 2% higher",
            at=example(
                pi_first=".5 .5",
                pi_second=[".4 .6"],
                pi_third=[[".5 .5"]],
                base_first=".99 .01",
                base_second=[".8 .2"],
                base_third=[[".93 .07"]],
                correct=[True, False, False, False],
            ),
            lhs=scaled(off_the_base_rate, 1.02),
        ),
        neighbour(
            "near one in place of A1",
            at=example(
                pi_first=".5 .5",
                pi_second=[".5 .5"],
                pi_third=[["1e-5 .99999"]],
                base_first=".2 .8",
                base_second=[".5 .5"],
                base_third=[[".00002 .99998"]],
                correct=[True, False, False, False],
            ),
            lhs=off_one,
        ),
    ),
)
