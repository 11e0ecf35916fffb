"""A10. Misspecification: collapse in a restricted family.

Where the family of policies does not hold p_beta: as beta falls the best reverse-KL fit maximises the
pass rate first, and can jump onto one answer; forward KL to p_* retains all that the family can;
alpha-divergences lie between.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...binary_reward import filtered, valid_mass, with_validity
from ...divergences import FORWARD_KL, REVERSE_KL, alpha_divergence, each
from ...fdivergence import FDivergence
from ...numeric.elementary import Values, expit, minimisers, normalised, only, trailing, xlogy
from ...references import Source
from ...restricted import critical_beta, most_valid, projection, shared_value, validity_and_cost
from ...verification.charts import chart, example, log_uniform, masks, rates, simplex, uniform
from ...verification.statement import Relation, neighbour, refuted, scaled, theorem
from .._laws import chosen_law
from .._tokens import independent

TWO_OF_FOUR = np.array([True, True, False, False])
"""Two valid outcomes, so that a Dirac loses one, and two invalid ones."""


def with_diracs(laws: Values) -> Values:
    """The family of all Diracs and the given members, (..., outcomes + members, outcomes)."""
    outcomes = laws.shape[-1]
    diracs = only(1 + 0 * laws[..., :1, :], np.eye(outcomes, dtype=bool))
    return np.concatenate([diracs, laws], axis=-2)


def dirac_on_mode(base: Values, valid: Values) -> Values:
    """The Dirac on argmax_{Y1} a; the even mixture of them if several are tied."""
    mode = minimisers(-base, among=valid)
    return only(1 + 0 * base, mode) / mode.sum(axis=-1)[..., None]


def distance_of_dirac(base: Values, valid: Values, divergence: FDivergence) -> Values:
    """D(delta_y || p_*) of the nearest Dirac, on the mode of p_* (the first mode if several are tied)."""
    mode = np.argmax(minimisers(-base, among=valid), axis=-1)
    dirac = only(1 + 0 * base, np.arange(base.shape[-1]) == mode[..., None])
    return divergence(dirac, filtered(base, valid))


def jump_prices(laws: Values, base: Values, valid: Values) -> Values:
    """The 1/beta at which the Dirac on the mode of Y1 ties with each member, and with the best Dirac on Y0.

    Members (..., members, outcomes) with some mass on Y0; shape (..., members + 1).
    """
    valid_mode, invalid_mode = (np.max(only(base, part), axis=-1) for part in (valid, ~valid))
    least_cost = -np.log(valid_mode)[..., None]
    to_laws = (least_cost - REVERSE_KL(laws, base[..., None, :])) / valid_mass(laws, ~valid[..., None, :])
    return np.concatenate([to_laws, least_cost + np.log(invalid_mode)[..., None]], axis=-1)


def jump(laws: Values, base: Values, valid: Values) -> Values:
    """The beta at which the family of all Diracs and the members leaves the Dirac on the mode of Y1.

    (1 - V)/(K* - K) of the first rival to win, shape (...); 1 where none ever does.
    """
    gain = np.max(jump_prices(laws, base, valid), axis=-1)
    return 1 / np.where(gain > 0, gain, 1.0)


def law_to_filtered(q: Values, base: Values, divergence: FDivergence) -> Values:
    """D(q || p_*) of the policy with weights q, a base with weights `base` and the verifier `TWO_OF_FOUR`."""
    return divergence(normalised(q), filtered(normalised(base), TWO_OF_FOUR))


def dirac_to_filtered(base: Values, divergence: FDivergence) -> Values:
    """The same of the nearest Dirac."""
    return distance_of_dirac(normalised(base), TWO_OF_FOUR, divergence)


def threshold(family: Values, base: Values, valid: Values) -> Values:
    """The critical beta, or 1 where the most valid member wins at every beta."""
    critical = critical_beta(family, base, valid)
    return np.where(critical < np.inf, critical, 1.0)


def lost_and_saved(
    family: Values, base: Values, valid: Values, beta: Values
) -> tuple[Values, Values, Values]:
    """V* - V(pi_b), K* - K(pi_b), and whether pi_b is the most valid member itself."""
    V, K = validity_and_cost(family, base, valid)
    best, chosen = most_valid(V, K), projection(family, base, valid, beta)
    lost, saved = (shared_value(best, x) - shared_value(chosen, x) for x in (V, K))
    return lost, saved, ~np.any(chosen & ~best, axis=-1)


def validity_lost(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    lost, _, same = lost_and_saved(family, base, valid, beta)
    return np.where(same, 0.0, lost)


def worth_of_saving(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    _, saved, same = lost_and_saved(family, base, valid, beta)
    return np.where(same, 0.0, beta * saved)


KEPT = example(
    first="1 0 0 0",
    second=".6 .2 .1 .1",
    third=".3 .3 .2 .2",
    base=".3 .2 .1 .4",
    valid=[True, True, False, False],
    fraction=".5",
    family=["1 0 0 0", "0 1 0 0", "0 0 1 0", "0 0 0 1", ".3 .3 .2 .2", ".6 .2 .1 .1"],
    beta=".4",
    laws=[".3 .3 .2 .2", ".6 .2 .1 .1"],
    q=".3 .3 .2 .2",
)

VALIDITY = theorem(
    "A10.validity",
    "Over any finite family V* - V(pi_b) <= beta (K* - K(pi_b)), K = KL(pi||a)",
    statement=r"\pi_\beta = \arg\min_{\pi\in\Pi} \mathrm{KL}(\pi\|p_\beta):\quad"
    r" V^* - V(\pi_\beta) \le \beta\,(K^* - K(\pi_\beta))",
    source=Source("dymetman2026binary", "misspecification"),
    on=chart(family=simplex(3, 3, zeros=True), base=simplex(3), valid=masks(3), beta=log_uniform(1e-3, 1e3)),
    at_most=(validity_lost, worth_of_saving),
    examples=(KEPT.giving(lhs=".2", rhs=".3706855728408"),),
    coq="validity_lost",
    false=(neighbour("no pass rate lost at any finite beta", rhs=scaled(worth_of_saving, 0)),),
)


def family_of(first: Values, second: Values, third: Values) -> Values:
    return normalised(np.stack([first, second, third], axis=-2))


def at_fraction(
    first: Values, second: Values, third: Values, base: Values, valid: Values, fraction: Values | float
) -> Values:
    family, base = family_of(first, second, third), normalised(base)
    chosen = projection(family, base, valid, fraction * threshold(family, base, valid))
    return np.stack([shared_value(chosen, x) for x in validity_and_cost(family, base, valid)], axis=-1)


def validity_first(first: Values, second: Values, third: Values, base: Values, valid: Values) -> Values:
    V, K = validity_and_cost(family_of(first, second, third), normalised(base), valid)
    return np.stack([shared_value(most_valid(V, K), x) for x in (V, K)], axis=-1)


def cost_first(first: Values, second: Values, third: Values, base: Values, valid: Values) -> Values:
    V, K = validity_and_cost(family_of(first, second, third), normalised(base), valid)
    return np.stack([shared_value(minimisers(-V, among=minimisers(K)), x) for x in (V, K)], axis=-1)


ORDER = theorem(
    "A10.order",
    "Below a critical beta the family's minimiser maximises the pass rate first, then minimises KL(pi||a)",
    statement=r"\beta < \min_{K(\pi)<K^*} \frac{V^*-V(\pi)}{K^*-K(\pi)} \;\Rightarrow\;"
    r" V(\pi_\beta) = V^*,\; K(\pi_\beta) = K^*",
    source=Source("dymetman2026binary", "misspecification"),
    # Weights spread evenly and ends that differ, since the policies of a simplex chart crowd near the uniform
    # one and in its corners, where pass rates tie within rounding and no float shows which is the highest.
    on=chart(
        first=log_uniform(1e-3, 1, 3),
        second=log_uniform(2e-3, 0.8, 3),
        third=log_uniform(5e-3, 0.7, 3),
        base=log_uniform(1e-3, 1, 3),
        valid=masks(3),
        fraction=uniform(0.01, 0.99),
    ),
    equal=(at_fraction, validity_first),
    examples=(KEPT.giving(value="1 1.2039728043259"),),
    coq="validity_first",
    false=(
        neighbour(
            "still so at 1% above the critical beta",
            lhs=lambda first, second, third, base, valid: at_fraction(
                first, second, third, base, valid, 1.01
            ),
        ),
        neighbour("least cost first, then pass rate", rhs=cost_first),
    ),
)


def base_mode(base: Values, valid: Values) -> Values:
    return dirac_on_mode(normalised(base), valid)


def projected_law(laws: Values, base: Values, valid: Values, fraction: Values | float) -> Values:
    family, base = with_diracs(normalised(laws)), normalised(base)
    return chosen_law(projection(family, base, valid, fraction * threshold(family, base, valid)), family)


COLLAPSE = theorem(
    "A10.collapse",
    "If Diracs are the only fully valid members, small beta gives the Dirac on argmax_{Y1} a",
    statement=r"\Pi \supseteq \{\delta_y\},\; \pi(Y_1) < 1 \text{ otherwise}:\quad"
    r" \pi_\beta = \delta_{\arg\max_{Y_1} a} \text{ for all small } \beta",
    source=Source("dymetman2026binary", "misspecification"),
    # Weights spread evenly, since near the uniform policy two modes tie within rounding.
    on=chart(
        laws=log_uniform(1e-3, 1, 2, 4),
        base=log_uniform(1e-3, 1, 4),
        valid=masks(4),
        fraction=uniform(0.01, 0.99),
    ),
    equal=(projected_law, base_mode),
    examples=(
        example(
            laws=[".3 .3 .2 .2", ".6 .2 .1 .1"],
            base=".3 .2 .1 .4",
            valid=[True, True, False, False],
            fraction=".9",
            value="1 0 0 0",
        ),
    ),
    coq="collapse",
    false=(
        neighbour(
            "the limit is the filtered model", rhs=lambda base, valid: filtered(normalised(base), valid)
        ),
        neighbour(
            "the Dirac on the base's mode over all outcomes",
            rhs=lambda base, valid: base_mode(base, valid | True),
        ),
        neighbour(
            "already at 1% above the critical beta",
            lhs=lambda laws, base, valid: projected_law(laws, base, valid, 1.01),
        ),
    ),
)


STEP = 1e-6
"""Relative distance from the jump at which both sides of it are looked at."""


def minimiser(laws: Values, base: Values, valid: Values, beta: Values) -> Values:
    family = with_diracs(laws)
    return chosen_law(projection(family, base, valid, beta), family)


def before_and_after(laws: Values, base: Values, valid: Values, factor: float = 1) -> Values:
    laws, base = normalised(laws), normalised(base)
    beta = jump(laws, base, valid) * factor
    return np.stack([minimiser(laws, base, valid, beta * (1 + side * STEP)) for side in (-1, 1)], axis=-2)


def dirac_then_rival(laws: Values, base: Values, valid: Values) -> Values:
    laws, base = normalised(laws), normalised(base)
    dirac, invalid = dirac_on_mode(base, valid), dirac_on_mode(base, ~valid)
    prices = jump_prices(laws, base, valid)
    rival = chosen_law(minimisers(-prices), np.concatenate([laws, invalid[..., None, :]], axis=-2))
    return np.stack([dirac, np.where(np.max(prices, axis=-1)[..., None] > 0, rival, dirac)], axis=-2)


def half_way(laws: Values, base: Values, valid: Values) -> Values:
    """Both sides equal: the mixture of the two, as if the minimiser moved continuously."""
    return dirac_then_rival(laws, base, valid).sum(axis=-2, keepdims=True) / 2


JUMP = theorem(
    "A10.jump",
    "The collapse onto a Dirac is a jump, at the beta where the Dirac and its first rival tie",
    statement=r"\Pi = \{\delta_y\} \cup \{q_1, \ldots, q_n\}:\quad \pi_\beta = \delta_{\arg\max_{Y_1} a}"
    r" \text{ for } \beta < \beta_j,\; \text{the rival for } \beta > \beta_j \text{ near it},\quad"
    r" \beta_j = \min_{\mathrm{KL}(\pi\|a) < K} \frac{1 - \pi(Y_1)}{K - \mathrm{KL}(\pi\|a)},"
    r"\quad K = -\log\max_{Y_1} a",
    source=Source("ours", "indifference of two members"),
    # Weights spread evenly, since near the uniform policy two modes tie within rounding.
    on=chart(laws=log_uniform(1e-3, 1, 3, 4), base=log_uniform(1e-3, 1, 4), valid=masks(4)),
    equal=(before_and_after, dirac_then_rival),
    examples=(KEPT,),
    false=(neighbour("no jump: the two policies mix continuously", rhs=half_way),),
)


def forgetting(policy: Values, target: Values) -> Values:
    """max_{y in Y1} kl(p_*(y) || pi(y)): infinite as soon as one valid outcome has lost all its mass."""
    kept = target > 0
    return np.max(only(REVERSE_KL(_against_the_rest(target), _against_the_rest(policy)), kept), axis=-1)


def _against_the_rest(policy: Values) -> Values:
    """(pi(y), the sum of the others) for each y: 1 - pi(y) would blur a rest that is exactly zero."""
    others = 1 - np.eye(policy.shape[-1], dtype=int)
    return np.stack([policy, (policy[..., None, :] * others).sum(axis=-1)], axis=-1)


def m_projection(laws: Values, base: Values, valid: Values) -> Values:
    """The member that minimises KL(p_* || pi) over all Diracs and the members."""
    family = with_diracs(laws)
    return chosen_law(minimisers(FORWARD_KL(family, filtered(base, valid)[..., None, :])), family)


def forgotten(laws: Values, base: Values, valid: Values) -> Values:
    laws, base = normalised(laws), normalised(base)
    return forgetting(m_projection(laws, base, valid), filtered(base, valid))


def best_law(laws: Values, base: Values, valid: Values) -> Values:
    return np.min(FORWARD_KL(normalised(laws), filtered(normalised(base), valid)[..., None, :]), axis=-1)


def forgotten_by_reverse(laws: Values, base: Values, valid: Values) -> Values:
    family, base = with_diracs(normalised(laws)), normalised(base)
    chosen = projection(family, base, valid, threshold(family, base, valid) / 2)
    return forgetting(chosen_law(chosen, family), filtered(base, valid))


COVERAGE = theorem(
    "A10.coverage",
    "The M-projection of the filtered model keeps each valid outcome, though Diracs are in the family",
    statement=r"\pi_F = \arg\min_{\pi\in\Pi} \mathrm{KL}(p_*\|\pi):\quad"
    r" \max_{Y_1} \mathrm{kl}(p_*(y)\|\pi_F(y)) \le \min_{q \in \Pi,\, q > 0} \mathrm{KL}(p_*\|q) < \infty",
    source=Source("dymetman2026binary", "misspecification"),
    on=chart(laws=log_uniform(1e-3, 1, 2, 4), base=log_uniform(1e-3, 1, 4), valid=masks(4)),
    at_most=(forgotten, best_law),
    examples=(KEPT.giving(lhs=".1046496287529", rhs=".277258872224"),),
    coq="projection_keeps",
    false=(
        neighbour("reverse KL to the tilted model at a small beta keeps them too", lhs=forgotten_by_reverse),
    ),
)


ALPHA = refuted(
    "A10.alpha",
    "alpha = 1/2: a policy that keeps all outcomes is nearer to p_* than a Dirac: refuted",
    statement=r"q > 0 \;\Rightarrow\; D_{f_\alpha}(q\|p_*) \le \min_y D_{f_\alpha}(\delta_y\|p_*),"
    r" \quad \alpha = \tfrac12",
    source=Source("ours", "misspecification"),
    on=chart(q=log_uniform(1e-3, 1, 4), base=log_uniform(1e-3, 1, 4)),
    at_most=(
        lambda q, base: law_to_filtered(q, base, alpha_divergence(0.5)),
        lambda base: dirac_to_filtered(base, alpha_divergence(0.5)),
    ),
    examples=(KEPT.giving(lhs=".9173030790972", rhs=".9016133230341"),),
    note="For alpha in (0, 1) a Dirac costs a finite amount. A10.threshold holds instead: each law has one "
    "alpha* in (0, 1), above which it is nearer to p_* than any Dirac and below which it is not (alpha* = "
    "0.504968 in the example); for alpha >= 1 it always is (A10.above).",
    false=(
        neighbour(
            "alpha = 0.9998 instead",
            at=example(q="1 .001 .3 1", base=".001 1 1 1"),
            lhs=lambda q, base: law_to_filtered(q, base, alpha_divergence(0.9998)),
            rhs=lambda base: dirac_to_filtered(base, alpha_divergence(0.9998)),
        ),
        neighbour(
            "for policies with at least a third of their mass valid",
            instances=chart(q=log_uniform(0.5, 1, 4), base=log_uniform(1e-3, 1, 4)),
        ),
    ),
)


COVERING = (FORWARD_KL, alpha_divergence(1.5), alpha_divergence(2.0))


def law_distances(q: Values, base: Values) -> Values:
    return np.stack([law_to_filtered(q, base, divergence) for divergence in COVERING], axis=-1)


def dirac_distances(base: Values) -> Values:
    return np.stack([dirac_to_filtered(base, divergence) for divergence in COVERING], axis=-1)


def costs_of_one_outcome(q: Values, base: Values, divergences: Sequence[FDivergence] = COVERING) -> Values:
    """Of each valid outcome: the distance of q to p_* after all other outcomes are merged."""
    target, law = filtered(normalised(base), TWO_OF_FOUR), normalised(q)

    def cost(y: int) -> Values:
        kept, asked = (np.stack([p[..., y], 1 - p[..., y]], axis=-1) for p in (law, target))
        return each(lambda divergence: divergence(kept, asked), divergences)

    return np.concatenate([cost(0), cost(1)], axis=-1)


def costs_and_distances(q: Values, base: Values) -> Values:
    return np.concatenate([costs_of_one_outcome(q, base), law_distances(q, base)], axis=-1)


def distances(q: Values, base: Values) -> Values:
    law = law_distances(q, base)
    return np.concatenate([law, law, dirac_distances(base)], axis=-1)


ABOVE = theorem(
    "A10.above",
    "For alpha >= 1 every policy that keeps all outcomes is nearer to p_* than any Dirac",
    statement=r"\alpha \ge 1,\; q > 0,\; |Y_1| \ge 2:\quad"
    r" d_{f_\alpha}(q(y)\|p_*(y)) \le D_{f_\alpha}(q\|p_*) \;(y \in Y_1),\quad"
    r" \lim_{q(y) \to 0} d_{f_\alpha}(q(y)\|p_*(y)) = \infty:\quad"
    r" D_{f_\alpha}(q\|p_*) < \infty = \min_y D_{f_\alpha}(\delta_y\|p_*)",
    source=Source("ours", "f(0) = inf"),
    on=chart(q=log_uniform(1e-3, 1, 4), base=log_uniform(1e-3, 1, 4)),
    at_most=(costs_and_distances, distances),
    examples=(KEPT,),
    false=(
        neighbour(
            "one outcome costs as much as both",
            at=example(q="1 1 .001 .001", base=".001 .03 .1 1"),
            lhs=lambda q, base: costs_of_one_outcome(q, base)[:, :3] + costs_of_one_outcome(q, base)[:, 3:],
            rhs=law_distances,
        ),
        neighbour(
            "at alpha = -1 too, where invalid mass is what costs infinitely much",
            lhs=lambda q, base: law_to_filtered(q, base, alpha_divergence(-1.0)),
            rhs=lambda base: dirac_to_filtered(base, alpha_divergence(-1.0)),
        ),
    ),
)


ALPHAS = (0.125, 0.5, 0.875)
"""Binary fractions, which floats hold exactly."""


def scaled_lead(q: Values, base: Values, alpha: float) -> Values:
    """How much nearer to p_* the policy is than the Dirac on its mode, times (1-alpha) max(p_*)^-alpha."""
    log_mode = np.log(np.max(filtered(normalised(base), TWO_OF_FOUR), axis=-1))
    distance_of_dirac = -np.expm1(alpha * log_mode) / (alpha * (1 - alpha))
    nearer = distance_of_dirac - law_to_filtered(q, base, alpha_divergence(alpha))
    return (1 - alpha) * np.exp(-alpha * log_mode) * nearer


def at_smaller_alpha(q: Values, base: Values) -> Values:
    return np.stack([scaled_lead(q, base, alpha) for alpha in ALPHAS[:-1]], axis=-1)


def at_larger_alpha(q: Values, base: Values) -> Values:
    return np.stack([scaled_lead(q, base, alpha) for alpha in ALPHAS[1:]], axis=-1)


THRESHOLD = theorem(
    "A10.threshold",
    "The policy's scaled lead over the Dirac in alpha-divergence to p_* strictly increases with alpha",
    statement=r"\alpha \mapsto \frac{1-\alpha}{\max p_*^{\,\alpha}}\,[\min_y D_{f_\alpha}(\delta_y\|p_*)"
    r" - D_{f_\alpha}(q\|p_*)] \text{ is strictly increasing on } (0,1)",
    source=Source("ours", "convexity in alpha"),
    on=chart(q=log_uniform(1e-3, 1, 4), base=log_uniform(1e-3, 1, 4)),
    at_most=(at_smaller_alpha, at_larger_alpha),
    examples=(KEPT.giving(lhs="-2.5582972772331 -.0101276939898", rhs="-.0101276939898 .5298492968033"),),
    false=(neighbour("decreasing with alpha", lhs=at_larger_alpha, rhs=at_smaller_alpha),),
)


def validity_and_kl(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    chosen = projection(family, base, valid, beta)
    return np.stack([shared_value(chosen, x) for x in validity_and_cost(family, base, valid)], axis=-1)


def at_smaller_beta(family: Values, base: Values, valid: Values, beta: Values, fraction: Values) -> Values:
    return validity_and_kl(family, base, valid, fraction * beta)


MONOTONE = theorem(
    "A10.monotone",
    "As beta decreases, the chosen member's pass rate and its KL to the base never fall, in any family",
    statement=r"\beta' \le \beta \;\Rightarrow\; V(\pi_\beta) \le V(\pi_{\beta'}),\quad"
    r" \mathrm{KL}(\pi_\beta\|a) \le \mathrm{KL}(\pi_{\beta'}\|a)",
    source=Source("ours", "two optimality conditions"),
    on=chart(
        family=simplex(4, 4, zeros=True),
        base=simplex(4),
        valid=masks(4),
        beta=log_uniform(1e-3, 1e3),
        fraction=uniform(0.01, 1),
    ),
    at_most=(validity_and_kl, at_smaller_beta),
    examples=(KEPT.giving(lhs=".8 .277258872224", rhs="1 1.2039728043259"),),
    coq="smaller_beta_chooses",
    false=(neighbour("pass rate never falls, and KL never rises", lhs=at_smaller_beta, rhs=validity_and_kl),),
)


def with_far_end(base: Values, other: Values, valid: Values, gain: Values) -> dict[str, Any]:
    """The segment's far end: the other policy's shape, and that share of the base's failures turned valid."""
    failing = valid_mass(base, ~valid)
    return {"far": with_validity(valid_mass(base, valid) + gain * failing, other, valid)}


def member(base: Values, far: Values, t: Values) -> Values:
    return (1 - trailing(t, 1)) * base + trailing(t, 1) * far


def price(base: Values, far: Values, valid: Values, t: Values) -> Values:
    """The 1/beta at which member t is chosen: the slope of KL(pi_t || a) over that of the pass rate."""
    slope = ((far - base) * np.log(member(base, far, t) / base)).sum(axis=-1)
    return slope / (valid_mass(far, valid) - valid_mass(base, valid))


def cost_of(base: Values, far: Values, valid: Values, t: Values, s: Values, factor: float = 1) -> Values:
    """KL(pi_s || a) - V(pi_s)/beta at the beta of t."""
    law = member(base, far, s)
    return REVERSE_KL(law, base) - factor * price(base, far, valid, t) * valid_mass(law, valid)


def cost_of_chosen(base: Values, far: Values, valid: Values, t: Values, factor: float = 1) -> Values:
    return cost_of(base, far, valid, t, t, factor)


SEGMENT = theorem(
    "A10.segment",
    "From the base to a policy of higher pass rate, member t between wins at 1/beta = K'(t)/V': no jump",
    statement=r"\pi_t = (1-t)\,a + t\,q,\; V(q) > V(a):\quad"
    r" K(\pi_t) - V(\pi_t)/\beta \le K(\pi_s) - V(\pi_s)/\beta \text{ for all } s \in [0,1],"
    r"\quad 1/\beta = K'(t)/V',\; K(\pi) = \mathrm{KL}(\pi\|a)",
    source=Source("ours", "a compact continuous family that is convex"),
    on=chart(
        base=simplex(4),
        other=simplex(4),
        valid=masks(4),
        gain=rates(low=1e-3, high=1e-3),
        t=rates(low=1e-3, high=1e-3),
        s=uniform(0, 1),
    ).deriving(with_far_end),
    at_most=(cost_of_chosen, cost_of),
    examples=(
        example(
            base=".15 .1 .45 .3",
            other=".5 .2 .2 .1",
            valid=[True, True, False, False],
            gain=".6",
            t=".4",
            s=".9",
            lhs="-.2898498957242",
            rhs="-.1844232835886",
        ),
    ),
    note="s = 1 is A10.validity's bound, V* - V <= beta (K* - K). As beta decreases t rises to 1: where q has"
    " every outcome of the base at the finite beta V'/K'(1), else only in the limit, as K'(1) is infinite.",
    coq="segment",
    false=(
        neighbour(
            "the most valid member, t = 1, already at that beta",
            lhs=lambda base, far, valid, t: cost_of(base, far, valid, t, 1 + 0 * t),
        ),
    ),
)


STARTS = np.array([(p, q) for p in (0.0, 0.5, 1.0) for q in (0.0, 0.5, 1.0)])


ROUNDS = 40
"""Of minimising over one token's row with the other's fixed."""


LINES = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], dtype=bool)
"""The answers 00, 01, 10, 11 that have one token fixed."""


RECTANGLES = np.concatenate([LINES, np.eye(4, dtype=bool)])


def best_product(base: Values, valid: Values, eps: float) -> Values:
    """The product of two distributions of one bit that minimises KL(. || p_beta), beta = eps, by search."""
    base = normalised(base)
    p, q = (np.broadcast_to(column, (len(base), len(STARTS))) for column in STARTS.T)
    score = (np.log(base) + valid / eps).reshape(-1, 1, 2, 2)
    over_second, over_first = score[..., 0, :] - score[..., 1, :], score[..., 0] - score[..., 1]
    for _ in range(ROUNDS):
        p = expit(q * over_second[..., 0] + (1 - q) * over_second[..., 1])
        q = expit(p * over_first[..., 0] + (1 - p) * over_first[..., 1])
    bits = [np.stack([rate, 1 - rate], axis=-1) for rate in (p, q)]
    law, base, valid = independent(*bits), base[:, None], valid[:, None]
    cost = (xlogy(law, law / base)).sum(axis=-1) + only(law, ~valid).sum(axis=-1) / eps
    return law[np.arange(len(law)), np.argmin(cost, axis=-1)]


def likeliest_rectangle(
    base: Values, valid: Values, rectangles: Values = RECTANGLES, more: float = 1.0
) -> Values:
    """The base given the likeliest rectangle of valid answers, the first token's lines weighed by `more`."""
    base = normalised(base)
    inside = ~np.any(rectangles & ~valid[:, None], axis=-1)
    weight = only(base[:, None], rectangles).sum(axis=-1) * np.where(np.arange(len(rectangles)) < 2, more, 1)
    chosen = rectangles[np.argmax(np.where(inside, weight, 0), axis=-1)]
    return filtered(base, chosen)


def filtered_model(base: Values, valid: Values) -> Values:
    return filtered(normalised(base), valid)


PRODUCT = theorem(
    "A10.product",
    "Tokens that cannot see each other: beta -> 0 gives the base on the likeliest valid rectangle",
    statement=r"\Pi = \{p \otimes q\} \text{ over two bits}:\quad"
    r" \lim_{\beta\to 0} \pi_\beta = a(\cdot|R^*),\;"
    r" R^* = \arg\max\{a(R) : R = A \times B \subseteq Y_1\};"
    r"\text{ a Dirac if no two valid answers share a token}",
    source=Source("ours", "a compact continuous family"),
    # No mass far below the others: a bit that hardly varies needs a far smaller beta.
    on=chart(base=log_uniform(0.05, 1, 4), valid=masks(4)),
    tends=(best_product, likeliest_rectangle),
    examples=(
        example(base=".3 .15 .35 .2", valid=[True, False, False, True]),
        example(base=".3 .15 .35 .2", valid=[True, True, True, False]),
    ),
    ladder=(1e-2, 1e-3, 1e-4),
    note="The fully valid members are the policies on rectangles A x B of valid answers, for two bits a"
    " single answer or a line; V* = 1 first, then K* = -log a(R*). With 00 and 11 valid (the tokens must"
    " agree) only Diracs are left: this continuous family collapses as A10.collapse says of a finite one.",
    false=(
        neighbour("the filtered model", rhs=filtered_model),
        neighbour("the Dirac on the base's mode in Y1", rhs=base_mode),
    ),
)


AGREE = np.array([True, False, False, True])


ZEROS = np.array([2, 1, 1, 0])
"""How many of an answer's two bits are 0, for 00, 01, 10, 11."""


def two_token_answers(lean: Values) -> Values:
    """Two independent bits, each 0 with probability (1 + lean)/2."""
    zero, one = trailing((1 + lean) / 2, 1), trailing((1 - lean) / 2, 1)
    return zero**ZEROS * one ** (2 - ZEROS)


def agreeing(odds: Values) -> Values:
    """The base: odds to 1 that the two bits agree, with 00 and 11 alike."""
    each = trailing(1 / (2 * (1 + odds)), 1)
    return np.where(AGREE, trailing(odds, 1) * each, each)


def added_speeds(lean: Values, odds: Values) -> Values:
    """The policy gradients of -KL(pi || a) and -KL(a || pi) in the bits' shared logit, answer by answer."""
    policy, base = two_token_answers(lean), agreeing(odds)
    score = ZEROS - trailing(1 + lean, 1)
    reverse = -(policy * score * np.log(policy / base)).sum(axis=-1)
    return np.stack([reverse, (base * score).sum(axis=-1)], axis=-1)


def closed_forms(lean: Values, odds: Values) -> Values:
    return np.stack([reverse_speed(lean, odds), -lean], axis=-1)


def reverse_speed(lean: Values, odds: Values) -> Values:
    return (1 - lean * lean) / 2 * (lean * np.log(odds) - np.log((1 + lean) / (1 - lean)))


def small_lean(lean: Values, odds: Values) -> Values:
    linear = lean * (np.log(odds) / 2 - 1)
    return np.stack([linear, -lean], axis=-1)


ACCELERATES = theorem(
    "A10.accelerates",
    "Where tokens cannot see each other, reverse KL speeds the loss of a mode (odds above e^2)",
    statement=r"\pi_m = \mathrm{Bern}(\tfrac{1+m}{2})^{\otimes 2},\;"
    r" a(00) = a(11) = e^{L} a(01) = e^{L} a(10):"
    r"\quad -\partial_\theta \mathrm{KL}(\pi_m\|a) = \tfrac{1-m^2}{2}\big(m L - \log\tfrac{1+m}{1-m}\big),"
    r"\quad -\partial_\theta \mathrm{KL}(a\|\pi_m) = -m,\quad m = \tanh(\theta/2)",
    source=Source("ours", "a family that cannot hold the base"),
    on=chart(lean=uniform(-0.95, 0.95), odds=log_uniform(1e-3, 1e3)),
    equal=(added_speeds, closed_forms),
    examples=(example(lean=".1", odds="20", value=".0489567532872 -.1"),),
    note="In a small lean m to one mode the reverse KL adds beta m (L/2 - 1) to its growth: above L = 2 the"
    " penalty itself drives the policy to one mode, together with a reward for agreeing bits, which adds"
    " m (1 - m^2)/2. The forward KL adds -beta m: it restores the balance, whatever the base.",
    coq="penalties_on_two_bits",
    false=(
        neighbour("to first order in the lean", rhs=small_lean),
        neighbour(
            "reverse KL restores the balance, as forward KL does",
            relation=Relation.AT_MOST,
            lhs=lambda lean, odds: trailing(lean, 1) * added_speeds(lean, odds),
            rhs=lambda lean: 0 * lean[:, None],
        ),
    ),
)
