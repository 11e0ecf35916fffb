"""Lower bounds on the return of a new policy: TRPO's, the published one, the corrected one, rehearsal.

Policies have shape (..., states, actions), bounds (...). eps is a largest absolute advantage, TV_s and D_s
are the total variation and the f-divergence in state s, and `pi_pef` is the near-perfect reference policy.
"""

import numpy as np

from .divergences import REVERSE_KL, TOTAL_VARIATION
from .fdivergence import FDivergence
from .mdp import TabularMDP
from .numeric.arrays import Array, Scalars, probability, real, require_common_shape
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
    """Surrogate L_old(pi) = J_old + sum_s d_old(s) E_pi A_old(s, .)/(1-gamma); schulman2015trpo."""
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
    """max_s TV_s(pi, pi_pef) span A_pef(s, .), or 2 eps_pef sqrt(max_s D_f/(2 f''(1))) for a divergence."""
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
    """Solve kl(J_ref || J) = kl for J <= J_ref, with J_ref in (0, 1) and finite kl."""
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
