"""Derivatives, and the charts and sides they come with, that several statements share."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import sympy

from ..binary_reward import filtered, valid_mass
from ..coverage import expected_distinct_valid
from ..divergences import COMPARED, SMOOTH, TOTAL_VARIATION, alpha_generator, each
from ..estimators import Estimator, definition_form, generator_form, x
from ..fdivergence import FDivergence, u
from ..numeric.balls import Values, normalised, only, trailing
from ..restricted import distance_of_dirac
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, FalseStep, Side, Steps


def rates_of_base(base_rates: Values, solvable: Values) -> dict[str, Values]:
    """The base rates A1(x), zero on the prompts that the base never solves."""
    return {"A1": only(base_rates, solvable)}


TWO_OF_FOUR = np.array([True, True, False, False])
"""Two valid outcomes, so that a Dirac loses one, and two invalid ones."""


def law_to_filtered(q: Values, base: Values, divergence: FDivergence) -> Values:
    """D(q || p_*) of the law with weights q, a base with weights `base` and the verifier `TWO_OF_FOUR`."""
    return divergence(normalised(q), filtered(normalised(base), TWO_OF_FOUR))


def dirac_to_filtered(base: Values, divergence: FDivergence) -> Values:
    """The same of the nearest Dirac."""
    return distance_of_dirac(normalised(base), TWO_OF_FOUR, divergence)


def convexity() -> Steps:
    """f(1) = 0 and f'' > 0, for every declared generator and for the alpha family."""
    for divergence in SMOOTH:
        yield Claim(f"f(1) = 0, {divergence.name}", sympy.Subs(divergence.expression, u, 1))
        yield Claim(f"f'' > 0, {divergence.name}", sympy.Derivative(divergence.expression, (u, 2)), ">0")
    yield FalseStep("log u, the sign turned", sympy.Derivative(sympy.log(u), (u, 2)), ">0")
    alpha = sympy.Symbol("alpha", real=True)
    domain = (sympy.Ne(alpha, 0), sympy.Ne(alpha, 1))
    family = alpha_generator(alpha)
    yield Claim("f(1) = 0, alpha", sympy.Subs(family, u, 1), where=domain)
    yield Claim("f'' > 0, alpha", sympy.Derivative(family, (u, 2)), ">0", where=domain)


EVERY = (*SMOOTH, TOTAL_VARIATION)
"""All named divergences and three alphas."""


PAIR = chart(pi=simplex(3), ref=simplex(3))
"""Policy and reference over three outcomes."""

EDGED_PAIR = chart(pi=simplex(3, zeros=True), ref=simplex(3, zeros=True))
"""The same, with masses of exactly zero among them."""

PAIRS = (example(pi=".5 .3 .2", ref=".2 .2 .6"), example(pi=".501 .25 .249", ref=".5 .25 .25"))
"""Two laws far apart, and two nearly equal ones."""


def squared_variation(pi: Values, ref: Values) -> Values:
    """TV(pi, ref)^2, with a trailing axis for the bounds on it."""
    return np.square(TOTAL_VARIATION(pi, ref))[..., None]


def pinsker_bounds(divergences: Sequence[FDivergence]) -> Side:
    """D_f/(2 f''(1)) of each divergence, as a side; both curvatures in use, 1 and 1/2, are exact."""
    return lambda pi, ref: each(lambda f: f(pi, ref) / (2 * f.curvature), divergences)


def gilardoni(name: str, f: sympy.Expr, where: tuple[sympy.Rel, ...] = ()) -> Steps:
    """Gilardoni's lemma g(u) (1 + b(u-1)) >= f''(1) (u-1)^2/2, b = -f'''(1)/(3 f''(1)), g normalised."""
    yield (
        "g(u) (1 + b(u-1)) >= f''(1) (u-1)^2/2 with g = f - f'(1)(u-1) and b = -f'''(1)/(3 f''(1)) "
        "in [0, 1]: the weights w = 1 + b(u-1) are positive, E_ref[w] = 1, and L1.cauchy gives 4 TV^2 = "
        "E_ref[|u-1|]^2 <= E_ref[w] E_ref[(u-1)^2/w] <= 2 D_f/f''(1)."
    )
    curvature = sympy.diff(f, u, 2).subs(u, 1)
    b = sympy.cancel(-sympy.diff(f, u, 3).subs(u, 1) / (3 * curvature))
    g = f - sympy.diff(f, u).subs(u, 1) * (u - 1)
    room = g * (1 + b * (u - 1)) - curvature * (u - 1) ** 2 / 2
    third = sympy.Subs(sympy.Derivative(f, (u, 3)), u, 1)
    yield Claim(f"{name}: b", -third, equals=3 * b * curvature, where=where)
    if b.free_symbols:
        yield Claim(f"{name}: 0 <= b", b, ">=0")
        yield Claim(f"{name}: b <= 1", 1 - b, ">=0")
    for k in range(3):
        derivative = sympy.Derivative(room, (u, k)) if k else room
        yield Claim(f"{name}: derivative {k} vanishes at 1", sympy.Subs(derivative, u, 1), where=where)
    yield (
        "The third derivative has the sign of u - 1, so the second is least at 1, where it is 0: so the "
        "first rises and changes sign at 1, and the room is least there, where it is 0 (L1.rising, three "
        "times)."
    )
    signed = sympy.Derivative(room, (u, 3)) * (u - 1)
    yield Claim(f"{name}: third derivative times u - 1", signed, ">=0", where=where)
    twice = room - curvature * (u - 1) ** 2 / 2
    yield FalseStep(f"{name}: with twice the constant", twice, ">=0", where=where)


Derivative: TypeAlias = Callable[[sympy.Expr], sympy.Expr]
"""d/d theta_0 of an expression."""


def symbolic_softmax(outcomes: int) -> tuple[list[sympy.Expr], list[sympy.Expr], Derivative]:
    """A softmax policy, a reference, and d/d theta_0, symbolically.

    The policy is w/sum(w) with w = e^theta, so that d/d theta_0 = w_0 d/d w_0. By the symmetry of the
    outcomes the derivative in theta_0 speaks for all.
    """
    w = sympy.symbols(f"w:{outcomes}", positive=True)
    s = sympy.symbols(f"s:{outcomes}", positive=True)
    pi, ref = [v / sum(w) for v in w], [v / sum(s) for v in s]
    return pi, ref, lambda expression: w[0] * sympy.diff(expression, w[0])


def softmax_slopes() -> Steps:
    """dlog pi_i/dt_j = (1 if i = j, else 0) - pi_j, for logits t of any number of outcomes."""
    yield "The weights e^t of all outcomes but i and j do not move: they stand in the sum as one number."
    w_i, rest = sympy.symbols("w_i rest", positive=True)
    t = sympy.Symbol("t", real=True)
    alone, both = sympy.exp(t) + rest, w_i + sympy.exp(t) + rest
    own = sympy.Derivative(sympy.log(sympy.exp(t) / alone), t)
    yield Claim(
        "the slope of an outcome's log probability in its own logit", own, equals=1 - sympy.exp(t) / alone
    )
    other = sympy.Derivative(sympy.log(w_i / both), t)
    yield Claim("and in another's", other, equals=-sympy.exp(t) / both)


def at_fixed_samples(
    estimator: Estimator, pi: list[sympy.Expr], ref: list[sympy.Expr], d: Derivative
) -> sympy.Expr:
    """E_pi[d k]: the estimator differentiated at each outcome, weighted by how often it is sampled."""
    return sum(p * d(estimator.expression.subs(x, sympy.log(p / q))) for p, q in zip(pi, ref, strict=True))


def same_gradient(weight: sympy.Expr, divergence: FDivergence, sampled: Callable[..., sympy.Expr]) -> Steps:
    """Steps that E_pi[weight grad log pi] is the gradient of D_f, weight an expression in x = log u.

    `sampled(pi, ref, d)` is the loss's own expected gradient, for the check on real softmax policies.
    """
    yield (
        "grad E_ref[f(u)] = E_ref[f'(u) grad u] = E_pi[f'(u) grad log pi], since grad u = u grad log pi; and "
        "scores have mean zero. So the two gradients agree if weight - f'(u) is the same at every outcome."
    )
    gap = weight.subs(x, sympy.log(u)) - divergence.derivative
    yield Claim("weight - f'(u) is constant", sympy.Derivative(gap, u))
    for outcomes in (2, 3):
        pi, ref, d = symbolic_softmax(outcomes)
        exact = d(sum(q * divergence.expression.subs(u, p / q) for p, q in zip(pi, ref, strict=True)))
        yield Claim(f"softmax, {outcomes} outcomes", sampled(pi, ref, d), equals=exact)
    yield FalseStep("twice the weight", sympy.Derivative(gap + weight.subs(x, sympy.log(u)), u))


def stepped(ref: Values, q: Values, step: Values) -> Values:
    """The policy (1-e) ref + e q, at the step e from the reference towards q."""
    return (1 - trailing(step, 1)) * ref + trailing(step, 1) * q


def generator_variance(pi: Values, ref: Values, divergences: Sequence[FDivergence] = COMPARED) -> Values:
    """Of one stored reference sample, f(u)."""
    return each(lambda f: generator_form(f, pi, ref).variance, divergences)


def definition_variance(pi: Values, ref: Values, divergences: Sequence[FDivergence] = COMPARED) -> Values:
    """Of one fresh policy sample, f(u)/u."""
    return each(lambda f: definition_form(f, pi, ref).variance, divergences)


def distinct_with_two(q: Values, valid: Values, k: Values | float) -> Values:
    """Expected distinct valid outputs, where the first two outcomes are valid whatever the mask says."""
    return expected_distinct_valid(q, valid | (np.arange(q.shape[-1]) < 2), k)


def concavity_of_hits() -> Steps:
    """1 - (1-q)^k is strictly concave in q for k = m + 2 >= 2."""
    r = sympy.Symbol("r", positive=True)
    m = sympy.Symbol("m", nonnegative=True)
    concave = sympy.Derivative(r ** (m + 2), (r, 2))
    yield Claim("-d^2/dq^2 [1 - (1-q)^(m+2)] at r = 1-q", concave, ">0")
    yield "So a Dirac finds the fewest: the share q/mu of the chord from f(0) = 0 to f(mu) lies below f(q)."
    yield Claim("nothing is found of what has no mass", 1 - (1 - sympy.Subs(1 - r, r, 1)) ** (m + 2))
    yield FalseStep("with one draw more than none", sympy.Derivative(r ** (1 / (m + 2)), (r, 2)), ">0")
    yield (
        "Mass one, r = 0, is the end of the interval, where the function is continuous: chords that end "
        "there obey."
    )


def reward_rises() -> Steps:
    """d/dg of the mean of w under q_g ~ q e^{gw} is its variance, a sum over pairs; so the mean rises."""
    yield "One strategy among any number of them, whose sum S of weights q e^{gw} has the slope E[w] S."
    g, w, v = sympy.symbols("g w w'", real=True)
    q, p = sympy.symbols("q q'", positive=True)
    S = sympy.Function("S")(g)
    log_mass = sympy.log(q) + g * w - sympy.log(S)
    slope = w - sympy.Derivative(S, g) / S
    yield Claim("the slope of log q_g is w - S'/S", sympy.Derivative(log_mass, g), equals=slope)
    weight = q * sympy.exp(g * w)
    yield Claim("a weight's part of S', so that S'/S = E w", sympy.Derivative(weight, g), equals=w * weight)
    yield (
        "So d/dg E w = E[w (w - E w)], which over pairs of strategies, each counted twice, is half of the "
        "sums of:"
    )
    pair = q * p * (w**2 + v**2) - 2 * (q * w) * (p * v)
    yield Claim("a pair of strategies", pair, equals=q * p * (w - v) ** 2)
    yield Claim("which is not negative", pair, ">=0")
    yield FalseStep("with the sign of the product turned", pair, equals=q * p * (w + v) ** 2)


def solving(also: Values) -> Values:
    """A 0/1 success matrix, from free entries: strategy s solves type s but not the next type.

    So every type is solved by some strategy, and no strategy solves all types.
    """
    types = np.arange(also.shape[-1])
    own, next_one = types[:, None] == types, types[:, None] == (types + 1) % len(types)
    return np.where(own, 1 + 0 * also, np.where(next_one, 0 * also, also))


def hits_rise() -> Steps:
    """pass@k = 1 - r^k decreases in the failure rate r = 1 - p, and depends on nothing else."""
    r, more, k = sympy.symbols("r more k", positive=True)
    yield Claim("(r + more)^k > r^k", (r + more) ** k - r**k, ">0")
    yield Claim("and no failure is the least", (r + more) ** k, ">0")
    yield FalseStep("it rises with the failures", r**k - (r + more) ** k, ">0")


def made_valid(law: Values, valid: Values) -> Values:
    """The law with its invalid mass moved to the first, valid outcome: it runs over all laws on Y1."""
    first = np.arange(law.shape[-1]) == 0
    return only(law, valid) + only(trailing(valid_mass(law, ~valid), 1), first)


def along_each_logit(pi: Values) -> list[dict[str, Any]]:
    """The kernel's softmax policy of this law, moved along one logit after the other."""
    return [{"th": np.log(pi), "d": direction} for direction in np.eye(len(pi))]


def smooth_functions() -> list[dict[str, Any]]:
    """The smooth generators, as the functions f and f1 = f' of the kernel's theorems."""
    return [{"f": f.generator, "f1": f.generator_derivative} for f in SMOOTH]


def variation_by_excess() -> Steps:
    """TV(q, p) is the sum of max(q - p, 0): half |q - p| and half q - p, whose sum is zero."""
    q, p = sympy.symbols("q p", nonnegative=True)
    half = (sympy.Abs(q - p) + (q - p)) / 2
    yield Claim("one outcome's |q - p|/2, with half of q - p", half, equals=sympy.Max(q - p, 0))


def tilted_identity() -> Steps:
    """E_q v - b KL(q||a) + b KL(q||p_b) = b log Z, one outcome of mass q at a time, p_b = a e^(v/b)/Z."""
    q, a, beta, Z = sympy.symbols("q a beta Z", positive=True)
    for name, v in (("valid", 1), ("invalid", 0)):
        p = a * sympy.exp(v / beta) / Z
        gained = q * v + beta * q * sympy.log(q / p) - beta * q * sympy.log(q / a)
        yield Claim(f"{name} outcome", gained, equals=beta * q * sympy.log(Z))
