"""E4. What a group-relative advantage maximises.

The expected on-policy gradient of a group's advantages is alpha_G(V) times the gradient of the pass rate V:
the weight is bounded at rare successes, constant for groups of two and three, and can give one beta several
laws.
"""

from itertools import product

import numpy as np
import sympy
from flint import arb, arb_series

from ..divergences import each
from ..numeric.balls import Values, logit, trailing
from ..numeric.enclosures import Scalar, series_of_order
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates, uniform
from ..statement.theorem import (
    Claim,
    FalseStep,
    Kernel,
    ScalarForm,
    Steps,
    derived,
    enclosed,
    holds,
    neighbour,
    proved,
    refuted,
)
from ._boxes import SHARE, scalar_weight
from ._laws import expected_weight, expected_weights

SIZES = (2, 4, 5)


def over_all_groups(validity: Values) -> Values:
    """E[sum_i A_i d log P(v_i)/dV]/G over all 2^G groups, A = (v - mean)/sample deviation, times V (1-V)."""
    return each(lambda size: _expected_update(size, validity), SIZES)


def _expected_update(size: int, validity: Values) -> Values:
    total, one = 0 * validity, 1 + 0 * validity
    for verdicts in product((0, 1), repeat=size):
        won = sum(verdicts)
        if 0 < won < size:
            deviation = np.sqrt(one * won * (size - won) / (size * (size - 1)))
            chance = validity**won * (1 - validity) ** (size - won)
            for verdict in verdicts:
                advantage = (verdict - one * won / size) / deviation
                # V (1-V) times the score: 1 - V where valid, -V where not.
                total = total + chance * advantage * (verdict - validity) / size
    return total


def weighed(validity: Values) -> Values:
    return each(lambda size: validity * (1 - validity) * expected_weight(size, validity), SIZES)


def from_the_whole_group(validity: Values) -> Values:
    """As if a group's G members, and not the G - 1 others, were drawn beside the answer."""
    return each(
        lambda size: validity * (1 - validity) * expected_weight(size + 1, validity) * size / (size + 1),
        SIZES,
    )


def of_the_population(validity: Values) -> Values:
    return each(lambda size: np.sqrt(validity * (1 - validity)), SIZES)


def weight_steps() -> Steps:
    yield (
        "The advantages depend on the verdicts alone. Given its own, an answer's score has the mean grad "
        "P(v)/P(v) = d log P(v)/dV grad V, as the terms below sum to, and its advantage the mean over the "
        "others' verdicts; all answers of a group are alike."
    )
    V = sympy.Symbol("V", positive=True)
    t = sympy.Symbol("t", real=True)
    p = sympy.Function("p", positive=True)(t)
    score = p / V * sympy.Derivative(sympy.log(p), t)
    yield Claim("a valid answer's part of the mean score", score, equals=sympy.Derivative(p, t) / V)
    below = (V < 1,)
    for name, v, chance in (("valid", 1, V), ("invalid", 0, 1 - V)):
        score = (v - V) / (V * (1 - V))
        yield Claim(f"score, {name}", sympy.Derivative(sympy.log(chance), V), equals=score, where=below)
    won, lost = sympy.symbols("won lost", real=True)
    update = V * won * (1 - V) + (1 - V) * lost * (0 - V)
    yield Claim("one answer's update, times V (1-V)", update, equals=V * (1 - V) * (won - lost))
    yield FalseStep("with the sum", update, equals=V * (1 - V) * (won + lost))


def polynomials(validity: Scalar) -> list[tuple[Scalar, Scalar]]:
    return [
        (_update_of_groups(size, validity), validity * (1 - validity) * scalar_weight(size, validity))
        for size in SIZES
    ]


def _update_of_groups(size: int, validity: Scalar) -> Scalar:
    total = 0 * validity
    for group in product((0, 1), repeat=size):
        won = sum(group)
        if 0 < won < size:
            deviation = (arb(won * (size - won)) / (size * (size - 1))).sqrt()
            chance = validity**won * (1 - validity) ** (size - won)
            gains = ((verdict - arb(won) / size) * (verdict - validity) for verdict in group)
            total += chance * sum(gains) / (deviation * size)
    return total


WEIGHT = derived(
    "E4.weight",
    "A group-relative advantage gives the gradient of V the weight alpha_G(V) = E[A|v=1] - E[A|v=0]",
    statement=r"E\,\tfrac1G\textstyle\sum_i A_i \nabla\log\pi(y_i) = \alpha_G(V) \nabla V,\quad"
    r" \alpha_G(V) = E[A|v=1] - E[A|v=0],\text{ the others' successes Binomial}(G-1, V)",
    source=Source("ours", "group normalisation"),
    on=chart(validity=rates(low=1e-4, high=1e-4)),
    equal=(over_all_groups, weighed),
    examples=(example(validity=".25"),),
    derivation=weight_steps,
    floor=1e-6,
    digits=6,
    reductions=(
        ScalarForm(
            "all of the chart's validities",
            {"validity": SHARE},
            lambda validity: {"validity": validity},
            sides=polynomials,
        ),
    ),
    false=(
        neighbour("the population form 1/sqrt(V(1-V))", rhs=of_the_population),
        neighbour("G others in the place of G - 1", rhs=from_the_whole_group),
    ),
)


def constants(validity: Values) -> Values:
    one = 1 + 0 * validity
    return np.stack([1 / np.sqrt(2 * one), 2 / np.sqrt(3 * one)], axis=-1)


def constant_steps() -> Steps:
    V = sympy.Symbol("V", positive=True)

    def advantage(verdict: int, won: int, size: int) -> sympy.Expr:
        """(verdict - mean)/sample deviation, of a group in which so many won; 0 where all or none did."""
        if won in (0, size):
            return sympy.Integer(0)
        deviation = sympy.sqrt(sympy.Rational(won * (size - won), size * (size - 1)))
        return (verdict - sympy.Rational(won, size)) / deviation

    def weight(size: int) -> sympy.Expr:
        """The mean over the others' k successes of A(valid) - A(invalid)."""
        return sum(
            sympy.binomial(size - 1, k)
            * V**k
            * (1 - V) ** (size - 1 - k)
            * (advantage(1, k + 1, size) - advantage(0, k, size))
            for k in range(size)
        )

    yield "The definition, summed over the 0, 1, ... successes among the others:"
    for component, constant in enumerate((1 / sympy.sqrt(2), 2 / sympy.sqrt(3))):
        size = component + 2
        yield Claim(f"G = {size}", weight(size), equals=constant)
    yield FalseStep("G = 4, as a constant", weight(4), equals=sympy.Rational(3, 2))


CONSTANT = proved(
    "E4.constant",
    "alpha_2 = 1/sqrt 2 and alpha_3 = 2/sqrt 3 whatever the validity",
    statement=r"\alpha_2(V) = 1/\sqrt2,\quad \alpha_3(V) = 2/\sqrt3",
    source=Source("ours", "group normalisation"),
    on=chart(validity=rates(low=1e-4, high=1e-4)),
    equal=(lambda validity: expected_weights((2, 3), validity), constants),
    examples=(example(validity=".25"),),
    kernel=Kernel("constant", where=lambda validity: {"V": validity}),
    derivation=constant_steps,
    digits=6,
    reductions=(
        ScalarForm(
            "all of the chart's validities",
            {"validity": SHARE},
            lambda validity: {"validity": validity},
            sides=lambda validity: [
                (scalar_weight(2, validity), 1 / arb(2).sqrt()),
                (scalar_weight(3, validity), 2 / arb(3).sqrt()),
            ],
        ),
    ),
    false=(
        neighbour(
            "alpha_4 = 3/2 whatever the validity",
            lhs=lambda validity: expected_weight(4, validity)[..., None],
            rhs=lambda validity: 1.5 + 0 * validity[..., None],
        ),
    ),
)


FAR_SIZES = (2, 4, 8, 16, 64)


def near_the_ends(pace: Values, eps: float) -> Values:
    ends = np.stack([eps * pace, 1 - eps * pace], axis=-1)
    return np.stack([expected_weight(size, ends) for size in FAR_SIZES], axis=1)


def bounded() -> Values:
    return np.array([[(size - 1) / np.sqrt(size)] * 2 for size in FAR_SIZES])[None]


def population(pace: Values, eps: float) -> Values:
    rare = (eps * pace)[:, None, None]
    return np.broadcast_to(1 / np.sqrt(rare * (1 - rare)), (len(pace), len(FAR_SIZES), 2))


ENDS = holds(
    "E4.ends",
    "alpha_G(0+) = alpha_G(1-) = (G-1)/sqrt G: a group weighs rare successes boundedly",
    statement=r"\alpha_G(V) \to \tfrac{G-1}{\sqrt G} \text{ as } V \to 0 \text{ or } 1",
    source=Source("ours", "group normalisation"),
    on=chart(pace=uniform(0.5, 2)),
    tends=(near_the_ends, bounded),
    examples=(example(pace="1"),),
    certified=False,
    tolerance=1e-5,
    false=(
        neighbour("1/sqrt(V(1-V))", rhs=population),
        neighbour("sqrt(G-1)", rhs=lambda: np.sqrt([[size - 1.0] * 2 for size in FAR_SIZES])[None]),
    ),
)


MEANS_OF = (2, 3, 8)


def weights(validity: Values) -> Values:
    return trailing(validity, 1) * expected_weights(MEANS_OF, validity, "mean")


def geometric(validity: Values) -> Values:
    return np.stack([1 - (1 - validity) ** (size - 1) for size in MEANS_OF], axis=-1)


def geometric_of_the_group(validity: Values) -> Values:
    return np.stack([1 - (1 - validity) ** size for size in MEANS_OF], axis=-1)


def mean_steps() -> Steps:
    yield (
        "A(valid) with k others valid is G/(k+1) - 1, A(invalid) is -1 but for k = 0, where it is 0: the "
        "gain is G/(k+1), less 1 at k = 0. Its mean, by the first claim, is [sum_{j>=1} C(G,j) V^j "
        "(1-V)^(G-j)]/V less (1-V)^(G-1), and the sum is 1 - (1-V)^G (L1.binomial)."
    )
    G, k = sympy.symbols("G k", integer=True, positive=True)
    moved = sympy.binomial(G - 1, k) * G / (k + 1)
    yield Claim("C(G-1, k) G/(k+1) = C(G, k+1)", moved, equals=sympy.binomial(G, k + 1), where=(k < G,))
    V, n = sympy.symbols("V n", positive=True)
    r = 1 - V
    weight = (1 - r ** (n + 1)) / V - r**n
    domain = (V < 1,)
    yield Claim("the mean, G = n + 1", V * weight, equals=1 - r**n, where=domain)
    yield (
        "The slope of [1-(1-V)^k]/k is (1-V)^(k-1); their sum over k <= n is geometric, 1 at n = 1, and by "
        "induction:"
    )
    slope = sympy.Derivative((1 - (1 - V) ** n) / n, V)
    yield Claim("the slope of pass@k/k", slope, equals=r ** (n - 1), where=domain)
    yield FalseStep("of pass@k itself", slope * n, equals=r ** (n - 1), where=domain)
    geometric = (1 - r**n) / V + r**n
    yield Claim("one more term of the sum", geometric, equals=(1 - r ** (n + 1)) / V, where=domain)


MEAN = proved(
    "E4.mean",
    "(r - mean)/mean weighs by [1 - (1-V)^(G-1)]/V, the slope of sum_{k<G} pass@k/k",
    statement=r"V \alpha_G(V) = 1 - (1-V)^{G-1} = V \tfrac{d}{dV}"
    r" \textstyle\sum_{k=1}^{G-1} \tfrac{1-(1-V)^k}{k}",
    source=Source("ours", "group normalisation; the advantage: tajwar2026maxrl"),
    on=chart(validity=rates(low=1e-4, high=1e-4)),
    equal=(weights, geometric),
    given=("L1.binomial",),
    examples=(example(validity=".25"),),
    kernel=Kernel("slope_of_passes", where=lambda validity: [{"V": validity, "G": G} for G in MEANS_OF]),
    derivation=mean_steps,
    digits=6,
    reductions=(
        ScalarForm(
            "all of the chart's validities",
            {"validity": SHARE},
            lambda validity: {"validity": validity},
            sides=lambda validity: [
                (validity * scalar_weight(size, validity, "mean"), 1 - (1 - validity) ** (size - 1))
                for size in MEANS_OF
            ],
        ),
    ),
    false=(neighbour("G in the exponent", rhs=geometric_of_the_group),),
)


RISING_SIZES = (4, 8, 16)


def lower(away: Values, share: Values) -> Values:
    return expected_weights(RISING_SIZES, 0.5 + share * away / 2)


def higher(away: Values) -> Values:
    return expected_weights(RISING_SIZES, 0.5 + away / 2)


def mirrored(away: Values) -> Values:
    return 1.01 * expected_weights(RISING_SIZES, 0.5 - away / 2)


def steepness(away: Scalar, share: Scalar) -> list[Scalar]:
    """(alpha(W) - alpha(V))/(Y - X), X and Y the squares of V - 1/2 and W - 1/2."""
    high = away * away / 4
    low = high * share * share
    return [
        sum(c * sum(high**i * low ** (j - 1 - i) for i in range(j)) for j, c in list(enumerate(powers))[1:])
        for powers in map(_in_squares, RISING_SIZES)
    ]


def _in_squares(size: int) -> list[arb]:
    """The coefficients of alpha_G(1/2 + x) in x^2; alpha_G(V) = alpha_G(1-V) has no odd powers."""
    with series_of_order(size):
        return scalar_weight(size, arb_series([arb(0.5), 1])).coeffs()[::2]


RISES = enclosed(
    "E4.rises",
    "alpha_G rises on [1/2, 1) for G = 4, 8, 16, so one beta can have several laws",
    statement=r"\tfrac12 \le V < W < 1,\; G \in \{4, 8, 16\} \;\Rightarrow\; \alpha_G(V) \le \alpha_G(W)",
    source=Source("ours", "group normalisation"),
    on=chart(away=rates(low=1e-3, high=1e-3), share=rates(low=1e-3, high=1e-3)),
    at_most=(lower, higher),
    examples=(example(away=".8", share=".5"),),
    digits=6,
    reductions=(
        ScalarForm(
            "all of the chart's scalars: the weight is a polynomial in the square of V - 1/2",
            {"away": SHARE, "share": SHARE},
            lambda away, share: {"away": away, "share": share},
            gap=steepness,
            factor=lambda away, share: [away * away * (1 - share * share) / 4],
        ),
    ),
    note="Where logit mu - logit A1 = alpha_G(mu)/beta has two roots mu < nu, 1/beta = (logit nu - logit mu)/"
    "(alpha_G(nu) - alpha_G(mu)): any pair above one half is a pair of laws of some beta and base rate, if a"
    " small one (`dph_theory.laws.several_laws_below`).",
    false=(neighbour("1% more below one half than above", lhs=mirrored),),
)


def drive(validity: Values, beta: Values) -> Values:
    """alpha_G(mu)/beta - logit mu at G = 32: a law has drive -logit A1."""
    return expected_weight(32, validity) / beta - logit(validity)


def upper_drive(low: Values, share: Values, beta: Values) -> Values:
    return drive(low + (1 - low) * share, beta)


def lower_drive(low: Values, beta: Values) -> Values:
    return drive(low, beta)


def small_group(validity: Values, beta: Values) -> Values:
    return 3 * expected_weight(4, validity) / beta - logit(validity)


UNIQUE = refuted(
    "E4.unique",
    "One law for each beta under group normalisation: refuted",
    statement=r"\mu < \nu \;\Rightarrow\; \tfrac{\alpha_G(\nu)}{\beta} - \mathrm{logit}\,\nu \le"
    r" \tfrac{\alpha_G(\mu)}{\beta} - \mathrm{logit}\,\mu \quad (G = 32)",
    source=Source("ours", "group normalisation"),
    on=chart(low=rates(low=1e-3, high=1e-3), share=rates(low=1e-3, high=1e-3), beta=log_uniform(0.1, 2)),
    at_most=(upper_drive, lower_drive),
    examples=(example(low=".6", share=".875", beta=".42"),),
    digits=6,
    note="Unique where the left side falls, as without normalisation and for G <= 3 (E4.constant). G = 32,"
    " A1 = .01, beta = .42 has stable laws at .504222 and .999782 with an unstable one at .849315 between.",
    false=(
        neighbour(
            "groups of four at a third of the beta",
            at=example(low=".6", share=".6", beta=".1"),
            lhs=lambda low, share, beta: small_group(low + (1 - low) * share, beta),
            rhs=lambda low, beta: small_group(low, beta),
        ),
    ),
)
