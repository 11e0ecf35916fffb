"""Lower bounds on returns and Pass@k: TRPO's, the published one, the corrected one, rehearsal.

Policies have shape (..., states, actions), bounds (...). eps is a largest absolute advantage, TV_s and D_s
are the total variation and the f-divergence in state s, and `pi_pef` is the near-perfect reference policy.
"""

import numpy as np

from .divergences import REVERSE_KL, TOTAL_VARIATION
from .fdivergence import FDivergence
from .mdp import TabularMDP
from .numeric.arrays import Array, Scalars, integers, open_rate, probability, real, require_common_shape
from .numeric.elementary import Values, exp_remainder
from .numeric.roots import newton_root
from .support.errors import argument_error, choice


def pinsker_constant(divergence: FDivergence) -> float:
    """Constant C_f = 2/f''(1) with 4 TV^2 <= C_f D_f: 2 for both KLs and alpha, 4 for the JS generator.

    Valid for forward and reverse KL, the JS generator and alpha in [-1, 2] (gilardoni2010pinsker). Raises
    ValueError for a divergence with a kink at 1. Source: ours, as one formula.
    """
    if not np.isfinite(divergence.curvature):
        raise argument_error("divergence", divergence.name, "one with a finite curvature f''(1)")
    return 2 / divergence.curvature


def surrogate(mdp: TabularMDP, pi: Array, pi_old: Array) -> Values:
    """Surrogate L_old(pi) = J_old + E_{d_old, pi} A_old/(1-gamma), shape (...). Source: schulman2015trpo."""
    pi = mdp.policy("pi", pi)
    gain = (pi * mdp.advantage(pi_old)).sum(axis=-1)
    return mdp.return_(pi_old) + (mdp.visitation(pi_old) * gain).sum(axis=-1) / (1 - mdp.gamma)


def worst_advantage(mdp: TabularMDP, pi: Array) -> Values:
    """Largest absolute advantage eps = max_{s,a} |A_pi(s, a)|, shape (...)."""
    return np.max(abs(mdp.advantage(pi)), axis=(-2, -1))


def weighted(weight: Values, distance: Values) -> Values:
    """weight * distance, zero if the weight is zero, even at an infinite distance."""
    with np.errstate(invalid="ignore"):
        return np.where(weight == 0, 0 * weight, weight * distance)


def trpo_penalty(mdp: TabularMDP, pi: Array, pi_old: Array, divergence: FDivergence | None = None) -> Values:
    """TRPO's penalty 4 eps gamma TVmax^2/(1-gamma)^2; with a divergence C_f max_s D_f replaces 4 TVmax^2.

    Source: schulman2015trpo; the f-divergence form from gilardoni2010pinsker.
    """
    eps, gamma = worst_advantage(mdp, pi_old), mdp.gamma
    if divergence is None:
        distance = 4 * np.square(np.max(TOTAL_VARIATION(pi, pi_old), axis=-1))
    else:
        distance = pinsker_constant(divergence) * np.max(divergence(pi, pi_old), axis=-1)
    return weighted(eps * gamma, distance) / (1 - gamma) ** 2


def trpo_bound(mdp: TabularMDP, pi: Array, pi_old: Array, divergence: FDivergence | None = None) -> Values:
    """TRPO's bound J(pi) >= L_old(pi) - `trpo_penalty`. Source: schulman2015trpo, entries `trpo_bound`."""
    return surrogate(mdp, pi, pi_old) - trpo_penalty(mdp, pi, pi_old, divergence)


def anchor_gain(mdp: TabularMDP, pi_old: Array, pi_pef: Array) -> Values:
    """Largest delta that the theorem's assumption allows: min_s E_{pi_pef} A_old(s, .).

    Source: ours, entries `dph_theorem_1`.
    """
    return np.min((mdp.policy("pi_pef", pi_pef) * mdp.advantage(pi_old)).sum(axis=-1), axis=-1)


def stated_bound(
    mdp: TabularMDP, pi: Array, pi_old: Array, pi_pef: Array, divergence: FDivergence, reading: str = "old"
) -> Values:
    """The "enhanced monotonic improvement" bound AS PUBLISHED, which is false; use `best_bound`.

    L_old(pi) - 2 gamma a1 eps_pi/(1-gamma)^2 + delta/(1-gamma) - C_f gamma a2 eps_pef/(1-gamma)^2 with a1 =
    max_s KL(pi || pi_old), a2 = max_s D_f(pi || pi_pef), eps_pi = max|A_old|, eps_pef = max|A_pef|. reading
    selects whose advantage delta bounds: that of pi_old ("old") or of pi ("new"). Source: li2025choice
    Theorem 1, kang2018pofd; the counterexample: entries `dph_theorem_1`.
    """
    choice("reading", reading, ("old", "new"))
    gamma = mdp.gamma
    delta = anchor_gain(mdp, pi_old if reading == "old" else pi, pi_pef)
    near_old = weighted(2 * worst_advantage(mdp, pi_old), np.max(REVERSE_KL(pi, pi_old), axis=-1))
    eps_pef = worst_advantage(mdp, pi_pef)
    near_pef = weighted(pinsker_constant(divergence) * eps_pef, np.max(divergence(pi, pi_pef), axis=-1))
    penalty = weighted(gamma, near_old + near_pef) / (1 - gamma) ** 2
    return surrogate(mdp, pi, pi_old) + delta / (1 - gamma) - penalty


def anchor_penalty(
    mdp: TabularMDP, pi: Array, pi_pef: Array, divergence: FDivergence | None = None
) -> Values:
    """max_s TV(pi, pi_pef) span A_pef, or 2 eps_pef sqrt(max_s D_f/(2 f''(1))) for a divergence; (...)."""
    advantage = mdp.advantage(pi_pef)
    if divergence is None:
        return np.max(TOTAL_VARIATION(pi, pi_pef) * np.ptp(advantage, axis=-1), axis=-1)
    farthest = np.max(divergence(pi, pi_pef), axis=-1) * pinsker_constant(divergence) / 4
    return weighted(2 * worst_advantage(mdp, pi_pef), np.sqrt(farthest))


def anchor_bound(
    mdp: TabularMDP, pi: Array, pi_old: Array, pi_pef: Array, divergence: FDivergence | None = None
) -> Values:
    """Bound J(pi) >= J_old + (delta - `anchor_penalty`)/(1-gamma), delta = min_s E_{pi_pef} A_old(s, .).

    The bound exceeds J_old iff the penalty is below delta. Source: ours, entries `anchor_bound`.
    """
    delta, penalty = anchor_gain(mdp, pi_old, pi_pef), anchor_penalty(mdp, pi, pi_pef, divergence)
    return mdp.return_(pi_old) + (delta - penalty) / (1 - mdp.gamma)


def best_bound(
    mdp: TabularMDP, pi: Array, pi_old: Array, pi_pef: Array, divergence: FDivergence | None = None
) -> Values:
    """Corrected bound: the larger of `trpo_bound` and `anchor_bound`; entries `anchor_bound`."""
    bounds = (trpo_bound(mdp, pi, pi_old, divergence), anchor_bound(mdp, pi, pi_old, pi_pef, divergence))
    return np.max(np.stack(np.broadcast_arrays(*bounds), axis=-1), axis=-1)


def rehearsal_guarantee(kl: Scalars, reference_return: Scalars = 1.0) -> Values:
    """Smallest return J compatible with kl(J_ref || J) <= KL(pi_pef || pi), for rewards in [0, 1].

    With J_ref = 1 (correct samples, pi_pef = p_*) the guarantee is exp(-kl).

    Args:
        kl: Forward KL of sequences (the sum over tokens) in nats, non-negative.
        reference_return: J_ref, in [0, 1]; shapes broadcast.

    Returns:
        Guaranteed return in [0, 1], of the broadcast shape.

    Raises:
        ValueError: If an argument is out of range.

    Source: ours, entries `rehearsal_guarantee`.
    """
    kl, reference = real("kl", kl, at_least=0), probability("reference_return", reference_return)
    require_common_shape(kl=kl, reference_return=reference)
    kl, reference = np.broadcast_arrays(kl, reference)
    # With t = log(J_ref/J) the divergence is at most J_ref t; the guarantee underflows beyond t = 800.
    certain = (reference == 1) | (reference == 0) | (kl > 800 * reference)
    ends = np.where(reference == 1, np.exp(-kl), 0.0)
    if certain.all():
        return ends
    return np.where(certain, ends, _inverted(np.where(certain, 0.0, kl), np.where(certain, 0.5, reference)))


def _inverted(kl: Values, reference: Values) -> Values:
    """Solve kl(J_ref || J) = kl for J <= J_ref, with J_ref in (0, 1) and finite kl; shapes broadcast."""
    # The unknown is t = log(J_ref/J), in which the divergence is convex and tiny guarantees keep their
    # digits.

    def step(t: Values) -> Values:
        lost = -reference * np.expm1(-t)
        # J_ref R(-t) + (1 - J_ref) R(log (1 - J)/(1 - J_ref)), R(x) = e^x - 1 - x: no term is negative.
        gain = np.log1p(lost / (1 - reference))
        reached = reference * exp_remainder(-t) + (1 - reference) * exp_remainder(gain)
        slope = np.where(lost > 0, lost / (1 - reference + lost), 1.0)
        return np.minimum((kl - reached) / slope, 0.0)

    # The start is slightly above the root: the divergence is at least J_ref R(-t) >= J_ref t^2/(2 + t).
    ratio = kl / reference
    return reference * np.exp(-newton_root(step, (ratio + np.sqrt(ratio * (ratio + 8))) / 2))


def steepest_line(k: Scalars) -> tuple[Values, Values]:
    """The KL x_k at which the line 1 - c_k x touches 1 - (1 - e^-x)^k from below, and c_k.

    c_k is the largest (1 - e^-x)^k/x, at e^x = 1 + k x; at k = 1 the line is the tangent at 0, c_1 = 1. For k
    from 2 on c_k is at most 1/log k. k: whole numbers from 1 on, any shape. Source: ours, entries
    `rehearsal_pass_at_k`.
    """
    k = integers("k", k, at_least=1).astype(float)
    more = np.maximum(k, 2.0)

    def step(x: Values) -> Values:
        return np.minimum(-(np.expm1(x) - more * x) / (np.exp(x) - more), 0.0)

    touch = np.where(k == 1, 0.0, newton_root(step, 2 * np.log(more) + 1))
    with np.errstate(invalid="ignore"):
        return touch, np.where(k == 1, 1.0, (-np.expm1(-touch)) ** k / touch)


def pass_at_k_guarantee(mean_kl: Scalars, k: Scalars) -> Values:
    """Least mean Pass@k of prompts whose forward KLs to the filtered models have this mean.

    A prompt at KL(p_* || policy) = e has Pass@k of at least 1 - (1 - exp(-e))^k. Over prompts the mean of
    that bound is least, for a given mean KL, where some prompts are at 0 and the others at x_k: 1 - c_k
    mean_kl. From x_k on it is least where all prompts are alike. Closeness in a bounded divergence guarantees
    nothing of the kind: it lets prompts go entirely.

    Args:
        mean_kl: Mean over prompts of KL(p_* || policy) in nats, at least 0; inf is allowed.
        k: Number of answers drawn, a whole number from 1 on; shapes broadcast.

    Returns:
        The guaranteed mean Pass@k, in [0, 1].

    Raises:
        ValueError: If a KL is negative, k is not a whole number from 1 on, or shapes do not fit.

    Example:
        >>> pass_at_k_guarantee(0.5, [1, 4, 16, 256]).round(4)
        array([0.6065, 0.8575, 0.9065, 0.9421])

    Source: ours, entries `rehearsal_pass_at_k`.
    """
    kl, draws = real("mean_kl", mean_kl, at_least=0), integers("k", k, at_least=1)
    require_common_shape(mean_kl=kl, k=draws)
    touch, slope = steepest_line(draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        equal_prompts = 0.0 - np.expm1(draws * np.log(-np.expm1(-kl)))
        return np.where(kl > touch, equal_prompts, 1 - slope * np.minimum(kl, touch))


STORED_GOALS = ("one", "every", "half")


def stored_answers_needed(share: Scalars, failure: Scalars = 0.05, *, goal: str = "one") -> np.ndarray:
    """Number of correct answers to store of a prompt, so that rehearsal can retain a strategy.

    A strategy is a set of correct answers with this share in the filtered model. Rehearsing stored answers
    may lose, at loss zero, what none of them has.

    Args:
        share: Share of the strategy in the correct answers, in (0, 1).
        failure: Accepted chance of failing, in (0, 1); shapes broadcast.
        goal: "one" answer of the strategy is stored; one of "every" strategy of at least that share; or at
            least "half" of the strategy's share is stored.

    Returns:
        The least number of answers drawn independently from the filtered model, whole numbers.

    Raises:
        ValueError: If share or failure is not in (0, 1), or the goal is unknown.

    Example:
        >>> [int(stored_answers_needed(0.05, goal=goal)) for goal in STORED_GOALS]
        [59, 117, 153]

    Source: ours, entries `rehearsal_pass_at_k`.
    """
    share, failure = open_rate("share", share), open_rate("failure", failure)
    require_common_shape(share=share, failure=failure)
    choice("goal", goal, STORED_GOALS)
    if goal == "half":
        return np.asarray(np.vectorize(_half_stored, otypes=[np.int64])(share, failure))
    strategies = 1 / share if goal == "every" else 1.0
    return np.asarray(np.ceil(np.log(strategies / failure) / -np.log1p(-share)), dtype=np.int64)


def _half_stored(share: float, failure: float) -> int:
    """The least n with P(Binomial(n, share) < n share/2) <= failure; 8 log(1/failure)/share suffices."""
    from scipy.stats import binom

    number = np.arange(1, int(8 * np.log(1 / failure) / share) + 2)
    enough = binom.cdf(np.ceil(number * share / 2) - 1, number, share) <= failure
    return int(number[np.argmax(enough)])
