"""alpha-DPG.

The reward ((p_*/pi)^alpha - 1)/alpha minimises the alpha-divergence to the filtered model; its ends are
KL-DPG and a limit that diverges on incorrect answers. The authors' code (naver/alpha-dpg a6f42d0) has the
reward (p_*/pi)^(1 - alpha) - 1: its alpha is 1 less this one; and the base rate is that of the same few
answers.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from math import comb

import numpy as np

from ...binary_reward import filtered, pass_rate
from ...divergences import ALPHAS, FORWARD_KL, REVERSE_KL, alpha_divergence, stacked
from ...numeric.elementary import Values, add_axes, masked
from ...references import Source
from ...verification.charts import chart, example, masks, rates, simplex
from ...verification.statement import Relation, neighbour, refuted, scaled, theorem
from .._estimators import alpha_dpg_reward
from .._policies import FOUR_ANSWERS, expected_update

POLICIES = chart(pi=simplex(4), base=simplex(4), valid=masks(4))
POLICY = FOUR_ANSWERS.but(pi=".3 .25 .25 .2", alpha=".5")


def policy_gradients(pi: Values, base: Values, valid: Values) -> Values:
    return stacked(lambda a: expected_update(pi, alpha_dpg_reward(pi, base, valid, a)), ALPHAS)


def descents(pi: Values, target: Values, alphas: Iterable[float] = ALPHAS) -> Values:
    """Logit gradients of -D_alpha(pi || target), shape (batch, outcomes, alphas)."""
    return stacked(lambda a: -alpha_divergence(a).gradient(pi, target), alphas)


def descents_to_filtered(pi: Values, base: Values, valid: Values) -> Values:
    return descents(pi, filtered(base, valid))


GRADIENT = theorem(
    "The alpha-DPG reward's policy gradient is -grad D_alpha(pi || p_*)",
    statement=r"E_\pi[R\,\nabla\log\pi] = -\nabla D_{f_\alpha}(\pi\|p_*),\quad"
    r" R(y) = \tfrac{1}{\alpha}\big((p_*(y)/\pi(y))^\alpha - 1\big)",
    source=Source("kruszewski2026whatever"),
    on=POLICIES,
    equal=(policy_gradients, descents_to_filtered),
    examples=(
        POLICY.giving(
            value=".6615291814881 .4042330365866 .328639639739 .4867498532847 .2622096146693 "
            ".187476598957 -.637932797096 -.3702459173644 -.28673124372 "
            "-.5103462376768 -.2961967338915 -.229384994976"
        ),
    ),
    coq="dpg_descends",
    false=(
        neighbour("the sign turned", rhs=scaled(descents_to_filtered, -1)),
        neighbour("the target is the base, not the filtered model", rhs=lambda pi, base: descents(pi, base)),
        neighbour(
            "alpha and 1 - alpha exchanged",
            rhs=lambda pi, base, valid: descents(pi, filtered(base, valid), [1 - a for a in ALPHAS]),
        ),
    ),
)


def reward_of_invalid(pi: Values, base: Values, valid: Values, alpha: Values) -> Values:
    return masked(alpha_dpg_reward(pi, base, valid, alpha), ~valid)


def least_reward(valid: Values, alpha: Values) -> Values:
    return masked(-1 / add_axes(alpha, 1), ~valid)


INVALID = theorem(
    "On invalid outcomes the alpha-DPG reward is -1/alpha",
    statement=r"v(y) = 0 \implies R(y) = -1/\alpha",
    source=Source("kruszewski2026whatever"),
    on=chart(pi=simplex(4), base=simplex(4), valid=masks(4), alpha=rates(low=1e-3, high=1e-3)),
    equal=(reward_of_invalid, least_reward),
    examples=(POLICY.giving(value="0 0 -2 -2"),),
    coq="reward_of_invalid",
    false=(
        neighbour("-1, whatever alpha", rhs=lambda valid: masked(np.array(-1.0), ~valid)),
        neighbour("0, as a verifier would reward it", rhs=lambda pi: 0 * pi),
    ),
)


def kldpg_policy_gradient(pi: Values, base: Values, valid: Values) -> Values:
    return expected_update(pi, filtered(base, valid) / pi - 1)


def kldpg_descent(pi: Values, base: Values, valid: Values) -> Values:
    return -FORWARD_KL.gradient(pi, filtered(base, valid))


KLDPG = theorem(
    "KL-DPG's policy gradient is -grad KL(p_* || pi)",
    statement=r"E_\pi[(p_*/\pi - 1)\,\nabla\log\pi] = -\nabla\,\mathrm{KL}(p_*\|\pi)",
    source=Source("go2023fdpg"),
    on=POLICIES,
    equal=(kldpg_policy_gradient, kldpg_descent),
    examples=(POLICY.giving(value=".3 .15 -.25 -.2"),),
    coq="kldpg_descends",
    false=(
        neighbour(
            "it minimises the reverse KL to the base", rhs=lambda pi, base: -REVERSE_KL.gradient(pi, base)
        ),
        neighbour("the plain verifier reward does as well", lhs=lambda pi, valid: expected_update(pi, valid)),
    ),
)


def distance_of_rewards(pi: Values, target: Values, alpha: Values) -> Values:
    """|R_alpha - R_1| of alpha-DPG's rewards, (..., outcomes), `target` being p_* on correct outcomes."""
    everywhere = np.ones(target.shape, dtype=bool)
    return abs(alpha_dpg_reward(pi, target, everywhere, alpha) - (target / pi - 1))


def linear_rate(pi: Values, target: Values, alpha: Values) -> Values:
    # With t = log z, d/d alpha (e^{alpha t} - 1)/alpha = int_0^{alpha t} s e^s ds / alpha^2, which lies
    # between 0 and t^2/2 max(1, e^{alpha t}) <= t^2/2 max(1, z); integrate from alpha to 1.
    z = target / pi
    return (1 - add_axes(alpha, 1)) * np.square(np.log(z)) / 2 * np.maximum(z, 1.0)


RATE = theorem(
    "alpha-DPG's reward of a correct answer is within (1-alpha) (log z)^2 max(1, z)/2 of KL-DPG's",
    statement=r"\big|R_\alpha(y) - (z - 1)\big| \le (1-\alpha)\,\tfrac12\log^2 z\,\max(1, z),\quad"
    r" z = p_*(y)/\pi(y) > 0",
    source=Source("kruszewski2026whatever"),
    on=chart(pi=simplex(3), target=simplex(3), alpha=rates(low=0.05, high=1e-6)),
    at_most=(distance_of_rewards, linear_rate),
    examples=(
        example(pi=".4 .3 .2 .1", target=".1 .35 .25 .3", alpha=".9").giving(
            lhs=".042028234723 .0013107495985 .0028711548015 .1245829116419",
            rhs=".0960906027836 .001386141872 .0031120652808 .1810423441219",
        ),
    ),
    # The bound is tight as z -> 1, where both sides are small.
    floor=1e-4,
    note="At invalid outcomes the rewards are -1/alpha (alpha_dpg.invalid) and -1.",
    coq="reward_rate",
    false=(
        neighbour(
            "a rate quadratic in 1 - alpha",
            rhs=lambda pi, target, alpha: (1 - add_axes(alpha, 1)) * linear_rate(pi, target, alpha),
        ),
        neighbour(
            "without the factor max(1, z)",
            rhs=lambda pi, target, alpha: linear_rate(pi, target, alpha) / np.maximum(target / pi, 1.0),
        ),
    ),
)


SHRINKING = (0.5, 0.125, 2.0**-5, 2.0**-7)
"""Values of alpha."""


def distances_to_filtered(pi: Values, base: Values, valid: Values) -> Values:
    """D_alpha(pi || p_*) for every alpha of SHRINKING, shape (batch, alphas)."""
    target = filtered(base, valid)
    return stacked(lambda a: alpha_divergence(a)(pi, target), SHRINKING)


def cost_of_valid(pi: Values, base: Values, valid: Values) -> Values:
    """Part of D_alpha(pi || p_*) that is due to proportions among correct answers, shape (batch, alphas).

    All arguments have shape (batch, answers); alpha runs over SHRINKING.
    """
    mu, target, inside = pass_rate(pi, valid), filtered(base, valid), filtered(pi, valid)
    return stacked(lambda a: mu ** (1 - a) * alpha_divergence(a)(inside, target), SHRINKING)


def cost_of_both(pi: Values, base: Values, valid: Values) -> Values:
    """Sum of the valid and the invalid part of D_alpha(pi || p_*), shape (batch, alphas)."""
    mu = pass_rate(pi, valid)
    of_invalid = stacked(lambda a: (1 - mu ** (1 - a)) / (a * (1 - a)), SHRINKING)
    return of_invalid + cost_of_valid(pi, base, valid)


ZERO = theorem(
    "D_alpha(pi || p_*), by its valid and its invalid part, is at least (1 - mu)/alpha",
    statement=r"D_{f_\alpha}(\pi\|p_*) = \frac{1 - \mu^{1-\alpha}}{\alpha(1-\alpha)}"
    r" + \mu^{1-\alpha} D_{f_\alpha}(\pi(\cdot|Y_1)\|p_*) \ge \tfrac{1-\mu}{\alpha},"
    r"\quad \mu = \pi(Y_1),\; \pi > 0,\; 0 < \alpha < 1",
    source=Source("kruszewski2026whatever"),
    on=POLICIES,
    equal=(distances_to_filtered, cost_of_both),
    examples=(POLICY.giving(value="1.0380326610849 3.7277260791284 14.5253360737374 57.7247495051942"),),
    coq="cost_of_the_invalid",
    false=(
        neighbour("the invalid outcomes cost nothing more", rhs=cost_of_valid),
        neighbour(
            "it stays below its value at alpha = 1/2",
            relation=Relation.AT_MOST,
            rhs=lambda pi, base, valid: add_axes(alpha_divergence(0.5)(pi, filtered(base, valid)), 1),
        ),
    ),
)


def groups_of(size: int, rarer: Values, commoner: Values) -> Iterator[tuple[int, int, Values]]:
    """Yield (count of the rarer, of the commoner correct answer, probability) over groups of that size."""
    for i in range(size + 1):
        for j in range(size + 1 - i):
            wrong = (1 - rarer - commoner) ** (size - i - j)
            yield i, j, comb(size, i) * comb(size - i, j) * rarer**i * commoner**j * wrong


def drive(
    pass_rate: Values, share: Values, alpha: Values, size: int = 4, *, rate_is_known: bool = False
) -> Values:
    """Expected update of log(rarer/commoner), (batch,), of two correct answers that the base gives alike.

    The rarer has probability pass_rate * share/2. The base rate is known, or estimated by the group's mean of
    v a/pi. The mean reward of the other answers is subtracted.
    """
    rarer, commoner = pass_rate * share / 2, pass_rate * (1 - share / 2)
    total = 0 * pass_rate
    for i, j, chance in groups_of(size, rarer, commoner):
        # Masses in units of half the base rate: a/pi of a correct answer is 1/pi.
        rate = 2.0 if rate_is_known else (i / rarer + j / commoner) / size
        powers = [(1 / (mass * np.where(rate > 0, rate, 1.0))) ** alpha for mass in (rarer, commoner)]
        mean = (i * powers[0] + j * powers[1]) / size
        total = total + chance * (i * (powers[0] - mean) - j * (powers[1] - mean)) / (size - 1)
    return total


GROUP = refuted(
    "The base rate from the same four answers drives as the known one does: refuted",
    statement=r"E\Big[\tfrac1G \sum_i A_i\,(1_{y_i = r} - 1_{y_i = c})\Big] \text{ is the same for }"
    r" Z = A_1 \text{ and for } Z = \tfrac1G \sum_i v_i a(y_i)/\pi(y_i),\quad"
    r" R = (v a/(Z\pi))^{\alpha} - 1,\; G = 4",
    source=Source("kruszewski2026whatever", "the released code"),
    on=chart(pass_rate=rates(low=0.05, high=0.02), share=rates(low=0.05, high=1e-3), alpha=rates(low=0.05)),
    equal=(drive, partial(drive, rate_is_known=True)),
    examples=(
        example(pass_rate=".6", share=".2", alpha=".75", lhs="-.1640773764113", rhs=".1704880793485"),
        example(pass_rate=".9", share=".2", alpha=".75", lhs=".1809776562109", rhs=".4022204537824"),
    ),
    note="r and c are two correct answers that the base gives alike, of which the policy gives r a tenth."
    " A lone correct answer of four has the ratio 4 whatever a/pi: nothing shows that it is rare. Where few"
    " groups have both, what the policy forgets is driven down.",
    false=(neighbour("in groups of sixteen", lhs=partial(drive, size=16)),),
)
