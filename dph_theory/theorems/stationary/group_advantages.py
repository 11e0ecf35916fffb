"""The objective that a group-relative advantage maximises.

The expected on-policy gradient of a group's advantages is alpha_G(V) times the gradient of the pass rate V:
the weight is bounded at rare successes, constant for groups of two and three, and can give one beta
several stationary policies. Two published forms of the weight are not it: 1/sqrt(V(1-V)) and MaxRL's of order
G. Every weight here is found by counting.
"""

from collections.abc import Iterable
from functools import partial
from itertools import product
from math import comb

import numpy as np

from ...divergences import stacked
from ...numeric.elementary import Values, add_axes, logit
from ...references import Source
from ...verification.charts import chart, example, log_uniform, rates, uniform
from ...verification.statement import neighbour, refuted, theorem

PASS_RATES = chart(pass_rate=rates(low=1e-4, high=1e-4))
SIZES = (2, 4, 5)


def advantage_gaps(size: int, scale: str) -> Values:
    """A(correct) - A(incorrect) for k = 0 .. G-1 successes of the others, (G,); A = 0 if rewards agree."""
    k = np.arange(1, size)
    spread = k / size if scale == "mean" else np.sqrt(k * (size - k) / (size * (size - 1)))
    of_valid, of_invalid = np.zeros(size + 1), np.zeros(size + 1)
    of_valid[1:-1], of_invalid[1:-1] = (1 - k / size) / spread, -k / size / spread
    return of_valid[1:] - of_invalid[:-1]


def expected_weight(size: int, pass_rate: Values, scale: str = "std") -> Values:
    """alpha_G(V), shape of `pass_rate`: mean of A(correct) - A(incorrect) over the G-1 other answers."""
    total = 0 * pass_rate
    for k, gain in enumerate(advantage_gaps(size, scale)):
        total = total + comb(size - 1, k) * pass_rate**k * (1 - pass_rate) ** (size - 1 - k) * gain
    return total


def expected_weights(sizes: Iterable[int], pass_rate: Values, scale: str = "std") -> Values:
    """Expected advantage weights alpha_G(V) for each group size G, shape (..., sizes)."""
    return np.stack([expected_weight(size, pass_rate, scale) for size in sizes], axis=-1)


def over_all_groups(pass_rate: Values) -> Values:
    """Expected update sum_i A_i d log P(v_i)/dV times V (1-V)/G, from all 2^G groups; (..., sizes)."""
    return stacked(lambda size: _expected_update(size, pass_rate), SIZES)


def _expected_update(size: int, pass_rate: Values) -> Values:
    total = 0 * pass_rate
    for verdicts in product((0, 1), repeat=size):
        won = sum(verdicts)
        if 0 < won < size:
            deviation = np.sqrt(won * (size - won) / (size * (size - 1)))
            chance = pass_rate**won * (1 - pass_rate) ** (size - won)
            for verdict in verdicts:
                advantage = (verdict - won / size) / deviation
                # V (1-V) times the score: 1 - V where valid, -V where not.
                total = total + chance * advantage * (verdict - pass_rate) / size
    return total


def spread_times_weight(pass_rate: Values) -> Values:
    return add_axes(pass_rate * (1 - pass_rate), 1) * expected_weights(SIZES, pass_rate)


def from_larger_groups(pass_rate: Values) -> Values:
    """V (1-V) times the expected weight (..., sizes) if G, and not G - 1, other answers were drawn."""
    weights = expected_weights([size + 1 for size in SIZES], pass_rate)
    shares = np.array([size / (size + 1) for size in SIZES])
    return add_axes(pass_rate * (1 - pass_rate), 1) * weights * shares


PASS_RATE = example(pass_rate=".25")

WEIGHT = theorem(
    "A group-relative advantage gives the gradient of V the weight alpha_G(V) = E[A|v=1] - E[A|v=0]",
    statement=r"E\,\tfrac1G\textstyle\sum_i A_i \nabla\log\pi(y_i) = \alpha_G(V) \nabla V,\quad"
    r" \alpha_G(V) = E[A|v=1] - E[A|v=0],\text{ the others' successes Binomial}(G-1, V)",
    source=Source("ours", "group normalisation"),
    on=PASS_RATES,
    equal=(over_all_groups, spread_times_weight),
    examples=(PASS_RATE,),
    floor=1e-6,
    false=(
        neighbour(
            "the population form 1/sqrt(V(1-V))",
            rhs=lambda pass_rate: add_axes(np.sqrt(pass_rate * (1 - pass_rate)), 1),
        ),
        neighbour("G others in the place of G - 1", rhs=from_larger_groups),
    ),
)


CONSTANTS = np.array([1 / np.sqrt(2), 2 / np.sqrt(3)])

CONSTANT = theorem(
    "alpha_2 = 1/sqrt 2 and alpha_3 = 2/sqrt 3 whatever the pass rate",
    statement=r"\alpha_2(V) = 1/\sqrt2,\quad \alpha_3(V) = 2/\sqrt3",
    source=Source("ours", "group normalisation"),
    on=PASS_RATES,
    equal=(partial(expected_weights, (2, 3)), lambda pass_rate: CONSTANTS + 0 * add_axes(pass_rate, 1)),
    examples=(PASS_RATE.giving(value=".7071067811865 1.1547005383793"),),
    coq="constant",
    false=(
        neighbour(
            "alpha_4 = 3/2 whatever the pass rate",
            lhs=partial(expected_weight, 4),
            rhs=lambda pass_rate: 1.5 + 0 * pass_rate,
        ),
    ),
)


FAR_SIZES = (2, 4, 8, 16, 64)


def near_the_ends(pace: Values, eps: float) -> Values:
    ends = np.stack([eps * pace, 1 - eps * pace], axis=-1)
    return np.stack([expected_weight(size, ends) for size in FAR_SIZES], axis=1)


def weights_at_both_ends() -> Values:
    return np.array([[(size - 1) / np.sqrt(size)] * 2 for size in FAR_SIZES])[None]


def population_weights(pace: Values, eps: float) -> Values:
    rare = add_axes(eps * pace, 2)
    return 1 / np.sqrt(rare * (1 - rare))


ENDS = theorem(
    "alpha_G(0+) = alpha_G(1-) = (G-1)/sqrt G: a group weighs rare successes boundedly",
    statement=r"\alpha_G(V) \to \tfrac{G-1}{\sqrt G} \text{ as } V \to 0 \text{ or } 1",
    source=Source("ours", "group normalisation"),
    on=chart(pace=uniform(0.5, 2)),
    tends=(near_the_ends, weights_at_both_ends),
    examples=(
        example(pace="1").giving(
            value=".7071067811865 .7071067811865 1.5 1.5 2.4748737341529 2.4748737341529 "
            "3.75 3.75 7.875 7.875"
        ),
    ),
    tolerance=1e-5,
    coq="ends",
    share=0.2,
    false=(
        neighbour("1/sqrt(V(1-V))", rhs=population_weights),
        neighbour("sqrt(G-1)", rhs=lambda: np.sqrt([[size - 1.0] * 2 for size in FAR_SIZES])[None]),
    ),
)


MEANS_OF = (2, 3, 8)


def rate_times_weight(pass_rate: Values) -> Values:
    return add_axes(pass_rate, 1) * expected_weights(MEANS_OF, pass_rate, "mean")


def chance_of_success(pass_rate: Values, without: int = 1) -> Values:
    """Probability that at least one of G - `without` answers is correct, (..., sizes)."""
    return stacked(lambda size: 1 - (1 - pass_rate) ** (size - without), MEANS_OF)


MEAN = theorem(
    "(r - mean)/mean weighs by [1 - (1-V)^(G-1)]/V, the slope of sum_{k<G} pass@k/k",
    statement=r"V \alpha_G(V) = 1 - (1-V)^{G-1} = V \tfrac{d}{dV}"
    r" \textstyle\sum_{k=1}^{G-1} \tfrac{1-(1-V)^k}{k}",
    source=Source("ours", "group normalisation; the advantage: tajwar2026maxrl"),
    on=PASS_RATES,
    equal=(rate_times_weight, chance_of_success),
    examples=(example(pass_rate=".3", value=".3 .51 .9176457"),),
    coq="slope_of_passes",
    false=(neighbour("G in the exponent", rhs=partial(chance_of_success, without=0)),),
)


RISING_SIZES = (4, 8, 16)


def weights_from_half(away: Values, share: Values | float = 1.0) -> Values:
    """Expected weights alpha_G, (..., sizes), at pass rate (1 + share away)/2."""
    return expected_weights(RISING_SIZES, 0.5 + share * away / 2)


RISES = theorem(
    "Std-normalised, alpha_G falls on [0, 1/2] and rises on [1/2, 1], for groups of every size",
    statement=r"\tfrac12 \le V \le W \le 1 \;\Rightarrow\; \alpha_G(V) \le \alpha_G(W),\;"
    r" \alpha_G(1-V) \le \alpha_G(1-W)",
    source=Source("ours", "group normalisation"),
    on=chart(away=rates(low=1e-3, high=1e-3), share=rates(low=1e-3, high=1e-3)),
    at_most=(weights_from_half, lambda away: weights_from_half(away)),
    examples=(
        example(away=".8", share=".5").giving(
            lhs="1.4155960043842 1.8359579340858 2.0260469233145",
            rhs="1.4638268590218 2.1773537339824 2.7573824628584",
        ),
    ),
    coq="rises_from_half falls_to_half",
    note="One beta can have several stationary policies: where logit mu - logit A1 = alpha_G(mu)/beta has"
    " two roots mu < nu, 1/beta = (logit nu - logit mu)/(alpha_G(nu) - alpha_G(mu)), so that any pair above"
    " one half is one of some beta and base rate, if a small one"
    " (`dph_theory.stationary.several_policies_below`).",
    false=(
        neighbour("1% more below one half than above", lhs=lambda away: 1.01 * weights_from_half(away, -1.0)),
    ),
)


def drive(
    low: Values, beta: Values, share: Values | float = 0.0, size: int = 32, factor: float = 1.0
) -> Values:
    """alpha_G(mu)/beta - logit mu, shape of mu = low + share (1-low): -logit A1 at stationary policies."""
    mu = low + (1 - low) * share
    return factor * expected_weight(size, mu) / beta - logit(mu)


def drive_at_lower(low: Values, beta: Values) -> Values:
    return drive(low, beta)


UNIQUE = refuted(
    "One stationary policy for each beta under group normalisation: refuted",
    statement=r"\mu < \nu \;\Rightarrow\; \tfrac{\alpha_G(\nu)}{\beta} - \mathrm{logit}\,\nu \le"
    r" \tfrac{\alpha_G(\mu)}{\beta} - \mathrm{logit}\,\mu \quad (G = 32)",
    source=Source("ours", "group normalisation"),
    on=chart(low=rates(low=1e-3, high=1e-3), share=rates(low=1e-3, high=1e-3), beta=log_uniform(0.1, 2)),
    at_most=(drive, drive_at_lower),
    examples=(example(low=".6", share=".875", beta=".42", lhs="6.2930726621544", rhs="4.2980736249343"),),
    coq="not_one_law",
    note="Unique where the left side falls, as without normalisation and for G <= 3"
    " (group_advantages.constant). G = 32,"
    " A1 = .01, beta = .42 has stable ones at .504222 and .999782 with an unstable one at .849315 between.",
    false=(
        neighbour(
            "groups of four at a third of the beta",
            at=example(low=".6", share=".6", beta=".1"),
            lhs=partial(drive, size=4, factor=3),
            rhs=lambda low, beta: drive(low, beta, size=4, factor=3),
        ),
    ),
)


GROUP_SIZES = (4, 8, 64)


def population_weight(pass_rate: Values) -> Values:
    return add_axes(1 / np.sqrt(pass_rate * (1 - pass_rate)), 1)


def rescaled_population_weight(pass_rate: Values) -> Values:
    """`population_weight` (..., sizes), rescaled so that it is exact at pass rate 1/2."""
    return population_weight(pass_rate) * expected_weights(GROUP_SIZES, np.full_like(pass_rate, 0.5)) / 2


DEVIATION = refuted(
    "GRPO weighs prompts by 1/sqrt(p(1-p)): refuted for groups of 4, 8 and 64",
    statement=r"\alpha_G(p) = 1/\sqrt{p(1-p)}",
    source=Source("mroueh2025grpo", "true of the population std"),
    on=PASS_RATES,
    equal=(partial(expected_weights, GROUP_SIZES), population_weight),
    examples=(example(pass_rate=".01", lhs="1.49602 2.44037 6.68336", rhs="10.0504 10.0504 10.0504"),),
    note="The limit of large groups at fixed p; the kernel has G = 4. At p = .01 it is 10.05, alpha_8 2.44;"
    " the weight is bounded by (G-1)/sqrt G (group_advantages.ends).",
    coq="not_the_deviation",
    false=(neighbour("up to a factor for each group size", rhs=rescaled_population_weight),),
)


SMALL_SIZES = (2, 4, 8)


def summed_slopes(pass_rate: Values, beyond: int = 0) -> Values:
    """Derivative in V of sum_{k <= G + beyond} Pass@k/k, the sum of (1-V)^(k-1); (..., sizes)."""
    powers = (1 - add_axes(pass_rate, 1)) ** np.arange(max(SMALL_SIZES) + beyond)
    return powers.cumsum(axis=-1)[..., [size + beyond - 1 for size in SMALL_SIZES]]


ORDER = refuted(
    "MaxRL's order is the group size: refuted, it is G - 1",
    statement=r"\alpha_G(V) = \tfrac{d}{dV}\textstyle\sum_{k=1}^{G} \tfrac{1-(1-V)^k}{k}",
    source=Source("tajwar2026maxrl", "as summarised; the paper was not read"),
    on=PASS_RATES,
    equal=(partial(expected_weights, SMALL_SIZES, scale="mean"), summed_slopes),
    examples=(example(pass_rate=".25", lhs="1 2.3125 3.46606", rhs="1.75 2.734375 3.59955"),),
    note="Of (r - mean)/mean with all-wrong groups dropped the sum stops at k = G - 1"
    " (group_advantages.mean). Of r/mean"
    " it stops at G: where groups are dropped, subtracting the mean is not free.",
    coq="not_the_group_size",
    false=(neighbour("order G + 1", rhs=partial(summed_slopes, beyond=1)),),
)
