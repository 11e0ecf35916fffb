"""Misspecification: collapse in a restricted family.

Where p_beta is not in the family of policies: as beta falls the best reverse-KL fit maximises the pass rate
first, and can jump onto one answer; forward KL to p_* retains all that the family can; alpha-divergences lie
between.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...binary_reward import filtered, pass_rate, with_pass_rate
from ...divergences import FORWARD_KL, REVERSE_KL, alpha_divergence, stacked
from ...fdivergence import FDivergence
from ...numeric.elementary import Values, add_axes, masked, minimisers, normalised
from ...references import Source
from ...restricted import critical_beta, most_valid, pass_rate_and_cost, projection, shared_value
from ...verification.charts import chart, example, log_uniform, masks, rates, simplex, uniform
from ...verification.statement import Relation, neighbour, scaled, theorem
from .._policies import FOUR_ANSWERS, chosen_member

TWO_OF_FOUR = np.array([True, True, False, False])
"""Two valid outcomes, so that a Dirac loses one, and two invalid ones."""
TWO_WEIGHTS = chart(q=log_uniform(1e-3, 1, 4), base=log_uniform(1e-3, 1, 4))
"""A policy and a base in weights, with the verifier `TWO_OF_FOUR`."""
TWO_MEMBERS = chart(members=log_uniform(1e-3, 1, 2, 4), base=log_uniform(1e-3, 1, 4), valid=masks(4))
"""Two members beside all Diracs, in weights spread evenly: near the uniform policy modes tie in rounding."""


def with_all_diracs(members: Values) -> Values:
    """The family of all Diracs and the given members, (..., outcomes + members, outcomes)."""
    diracs = np.zeros((*members.shape[:-2], 1, 1)) + np.eye(members.shape[-1])
    return np.concatenate([diracs, members], axis=-2)


def dirac_on_mode(base: Values, valid: Values) -> Values:
    """Dirac (batch, outcomes) on the base's likeliest correct outcome; ties are averaged."""
    return normalised(minimisers(-base, among=valid))


def policy_to_filtered(q: Values, base: Values, divergence: FDivergence) -> Values:
    """D(q || p_*), (...), for unnormalised weights q and base (..., 4) and the verifier `TWO_OF_FOUR`."""
    return divergence(normalised(q), filtered(normalised(base), TWO_OF_FOUR))


def finite_critical_beta(family: Values, base: Values, valid: Values) -> Values:
    """Largest beta (batch,) below which the most correct member is nearest to p_beta; 1 if it always is.

    `family` has shape (batch, members, outcomes), `base` and `valid` (batch, outcomes).
    """
    critical = critical_beta(family, base, valid)
    return np.where(critical < np.inf, critical, 1.0)


def lost_and_saved(family: Values, base: Values, valid: Values, beta: Values) -> list[Values]:
    """Pass rate lost and KL saved, each (batch,), by the member chosen at beta; 0 if it is the most correct.

    Both are relative to the most correct member; `family` has shape (batch, members, outcomes).
    """
    V, K = pass_rate_and_cost(family, base, valid)
    best, chosen = most_valid(V, K), projection(family, base, valid, beta)
    others_chosen = np.any(chosen & ~best, axis=-1)
    return [masked(shared_value(best, x) - shared_value(chosen, x), others_chosen) for x in (V, K)]


def pass_rate_lost(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    return lost_and_saved(family, base, valid, beta)[0]


def worth_of_saving(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    return beta * lost_and_saved(family, base, valid, beta)[1]


RESTRICTED = example(
    first="1 0 0 0",
    second=".6 .2 .1 .1",
    third=".3 .3 .2 .2",
    base=".3 .2 .1 .4",
    valid=[True, True, False, False],
    fraction=".5",
    family=["1 0 0 0", "0 1 0 0", "0 0 1 0", "0 0 0 1", ".3 .3 .2 .2", ".6 .2 .1 .1"],
    beta=".4",
    members=[".3 .3 .2 .2", ".6 .2 .1 .1"],
    q=".3 .3 .2 .2",
)
"""One base and verifier for all: a family with and without the four Diracs, and one policy."""

VALIDITY = theorem(
    "Over any finite family V* - V(pi_b) <= beta (K* - K(pi_b)), K = KL(pi||a)",
    statement=r"\pi_\beta = \arg\min_{\pi\in\Pi} \mathrm{KL}(\pi\|p_\beta):\quad"
    r" V^* - V(\pi_\beta) \le \beta\,(K^* - K(\pi_\beta))",
    source=Source("dymetman2026binary", "Section 5; misspecification", figure="collapse"),
    on=chart(family=simplex(3, 3, zeros=True), base=simplex(3), valid=masks(3), beta=log_uniform(1e-3, 1e3)),
    at_most=(pass_rate_lost, worth_of_saving),
    examples=(RESTRICTED.giving(lhs=".2", rhs=".3706855728408"),),
    coq="validity_lost",
    false=(neighbour("no pass rate lost at any finite beta", rhs=scaled(worth_of_saving, 0)),),
)


def family_of_three(first: Values, second: Values, third: Values) -> dict[str, Values]:
    return {"family": normalised(np.stack([first, second, third], axis=-2))}


def values_at_beta(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    """Pass rate and KL to the base, (batch, 2), of the member nearest to the Gibbs policy at beta.

    `family` has shape (batch, members, outcomes), `base` and `valid` (batch, outcomes), `beta` (batch,).
    """
    chosen = projection(family, base, valid, beta)
    return stacked(partial(shared_value, chosen), pass_rate_and_cost(family, base, valid))


def at_fraction(family: Values, base: Values, valid: Values, fraction: Values | float) -> Values:
    base = normalised(base)
    return values_at_beta(family, base, valid, fraction * finite_critical_beta(family, base, valid))


def pass_rate_first(
    family: Values, base: Values, valid: Values, order: Callable[..., Values] = most_valid
) -> Values:
    """Pass rate and KL to the base, (batch, 2), of the member that `order(rates, KLs)` ranks first.

    `family` has shape (batch, members, outcomes); `base` may be unnormalised weights.
    """
    V, K = pass_rate_and_cost(family, normalised(base), valid)
    return stacked(partial(shared_value, order(V, K)), (V, K))


cost_first = partial(pass_rate_first, order=lambda V, K: minimisers(-V, among=minimisers(K)))


ORDER = theorem(
    "Below a critical beta the family's minimiser maximises the pass rate first, then minimises KL(pi||a)",
    statement=r"\beta < \min_{K(\pi)<K^*} \frac{V^*-V(\pi)}{K^*-K(\pi)} \;\Rightarrow\;"
    r" V(\pi_\beta) = V^*,\; K(\pi_\beta) = K^*",
    source=Source("dymetman2026binary", "Section 5; misspecification", figure="collapse"),
    # Weights spread evenly and ends that differ, since the policies of a simplex chart crowd near the uniform
    # one and in its corners, where pass rates tie within rounding and no float shows which is the highest.
    on=chart(
        first=log_uniform(1e-3, 1, 3),
        second=log_uniform(2e-3, 0.8, 3),
        third=log_uniform(5e-3, 0.7, 3),
        base=log_uniform(1e-3, 1, 3),
        valid=masks(3),
        fraction=uniform(0.01, 0.99),
    ).deriving(family_of_three),
    equal=(at_fraction, pass_rate_first),
    examples=(RESTRICTED.giving(value="1 1.2039728043259"),),
    coq="validity_first",
    false=(
        neighbour(
            "still so at 1% above the critical beta",
            lhs=lambda family, base, valid: at_fraction(family, base, valid, 1.01),
        ),
        neighbour("least cost first, then pass rate", rhs=cost_first),
    ),
)


def filtered_model(base: Values, valid: Values) -> Values:
    return filtered(normalised(base), valid)


def chosen_below_critical(members: Values, base: Values, valid: Values, fraction: Values | float) -> Values:
    """Member (batch, outcomes) of all Diracs and `members` chosen at that fraction of the critical beta.

    `members` (batch, members, outcomes) and `base` (batch, outcomes) may be unnormalised weights.
    """
    family, base = with_all_diracs(normalised(members)), normalised(base)
    return chosen_member(
        projection(family, base, valid, fraction * finite_critical_beta(family, base, valid)), family
    )


COLLAPSE = theorem(
    "If Diracs are the only fully valid members, small beta gives the Dirac on argmax_{Y1} a",
    statement=r"\Pi \supseteq \{\delta_y\},\; \pi(Y_1) < 1 \text{ otherwise}:\quad"
    r" \pi_\beta = \delta_{\arg\max_{Y_1} a} \text{ for all small } \beta",
    source=Source("dymetman2026binary", "Section 5; misspecification", figure="collapse"),
    on=chart(**TWO_MEMBERS.parts, fraction=uniform(0.01, 0.99)),
    equal=(chosen_below_critical, dirac_on_mode),
    examples=(RESTRICTED.but(fraction=".9").giving(value="1 0 0 0"),),
    coq="collapse",
    note="In any family the limit is one answer for certain iff the most valid members of least KL are Diracs"
    " only. It is not where small mixtures of the likeliest right answer with another are as valid, and no"
    " family of positive policies collapses at a finite beta.",
    false=(
        neighbour("the limit is the filtered model", rhs=filtered_model),
        neighbour(
            "the Dirac on the base's mode over all outcomes",
            rhs=lambda base, valid: dirac_on_mode(base, valid | True),
        ),
        neighbour(
            "already at 1% above the critical beta",
            lhs=lambda members, base, valid: chosen_below_critical(members, base, valid, 1.01),
        ),
    ),
)


def forgetting(policy: Values, target: Values) -> Values:
    """max over correct y of kl(target(y) || policy(y)), (...): inf once a correct outcome has no mass."""
    costs = REVERSE_KL(_against_the_rest(target), _against_the_rest(policy))
    return np.max(masked(costs, target > 0), axis=-1)


def _against_the_rest(policy: Values) -> Values:
    """Pairs (policy(y), sum of the others) for each y, (..., outcomes, 2), exact when the rest is zero."""
    rest = 1 - np.eye(policy.shape[-1], dtype=int)
    return np.stack([policy, (policy[..., None, :] * rest).sum(axis=-1)], axis=-1)


def forgotten_by_forward(members: Values, base: Values, valid: Values) -> Values:
    """`forgetting` (batch,) of the member of all Diracs and `members` that minimises KL(p_* || pi)."""
    family, target = with_all_diracs(normalised(members)), filtered(normalised(base), valid)
    return forgetting(chosen_member(minimisers(FORWARD_KL(family, target[..., None, :])), family), target)


def least_cost(members: Values, base: Values, valid: Values) -> Values:
    return np.min(FORWARD_KL(normalised(members), filtered(normalised(base), valid)[..., None, :]), axis=-1)


def forgotten_by_reverse(members: Values, base: Values, valid: Values) -> Values:
    policy = chosen_below_critical(members, base, valid, 1 / 2)
    return forgetting(policy, filtered(normalised(base), valid))


COVERAGE = theorem(
    "The M-projection of p_* in a family with a positive member has mass on every correct answer",
    statement=r"\pi_F = \arg\min_{\pi\in\Pi} \mathrm{KL}(p_*\|\pi):\quad"
    r" \max_{Y_1} \mathrm{kl}(p_*(y)\|\pi_F(y)) \le \min_{q \in \Pi,\, q > 0} \mathrm{KL}(p_*\|q) < \infty",
    source=Source("dymetman2026binary", "Section 5; misspecification", figure="collapse"),
    on=TWO_MEMBERS,
    at_most=(forgotten_by_forward, least_cost),
    examples=(RESTRICTED.giving(lhs=".1046496287529", rhs=".277258872224"),),
    coq="projection_keeps",
    false=(
        neighbour("reverse KL to the tilted model at a small beta keeps them too", lhs=forgotten_by_reverse),
    ),
)


ALPHAS = (0.125, 0.5, 0.875)  # Binary fractions, which floats hold exactly.


def scaled_lead(q: Values, base: Values, alpha: float) -> Values:
    """(D_alpha of the Dirac on p_*'s mode - D_alpha of q) (1-alpha) max(p_*)^-alpha, to p_*; (batch,)."""
    log_mode = np.log(np.max(filtered(normalised(base), TWO_OF_FOUR), axis=-1))
    of_dirac = -np.expm1(alpha * log_mode) / (alpha * (1 - alpha))
    lead = of_dirac - policy_to_filtered(q, base, alpha_divergence(alpha))
    return (1 - alpha) * np.exp(-alpha * log_mode) * lead


def scaled_leads(q: Values, base: Values, alphas: Sequence[float] = ALPHAS[:-1]) -> Values:
    return stacked(partial(scaled_lead, q, base), alphas)


leads_at_larger_alpha = partial(scaled_leads, alphas=ALPHAS[1:])


THRESHOLD = theorem(
    "The policy's scaled lead over the Dirac in alpha-divergence to p_* strictly increases with alpha",
    statement=r"\alpha \mapsto \frac{1-\alpha}{\max p_*^{\,\alpha}}\,[\min_y D_{f_\alpha}(\delta_y\|p_*)"
    r" - D_{f_\alpha}(q\|p_*)] \text{ is strictly increasing on } (0,1)",
    source=Source("ours", "convexity in alpha"),
    on=TWO_WEIGHTS,
    at_most=(scaled_leads, leads_at_larger_alpha),
    examples=(
        RESTRICTED.giving(lhs="-2.5582972772331 -.0101276939898", rhs="-.0101276939898 .5298492968033"),
    ),
    false=(neighbour("decreasing with alpha", lhs=leads_at_larger_alpha, rhs=scaled_leads),),
)


def at_smaller_beta(family: Values, base: Values, valid: Values, beta: Values, fraction: Values) -> Values:
    return values_at_beta(family, base, valid, fraction * beta)


MONOTONE = theorem(
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
    at_most=(values_at_beta, at_smaller_beta),
    examples=(RESTRICTED.giving(lhs=".8 .277258872224", rhs="1 1.2039728043259"),),
    coq="smaller_beta_chooses",
    false=(neighbour("pass rate never falls, and KL never rises", lhs=at_smaller_beta, rhs=values_at_beta),),
)


def with_end(base: Values, other: Values, valid: Values, gain: Values) -> dict[str, Any]:
    """Part `end` of the segment (1-t) base + t end: pass rate A1 + gain A0, proportions as in `other`."""
    failing = pass_rate(base, ~valid)
    return {"end": with_pass_rate(pass_rate(base, valid) + gain * failing, other, valid)}


def member(base: Values, end: Values, t: Values) -> Values:
    return (1 - add_axes(t, 1)) * base + add_axes(t, 1) * end


def price(base: Values, end: Values, valid: Values, t: Values) -> Values:
    """The 1/beta at which (1-t) base + t end is best of its segment: KL's slope over V's; (batch,)."""
    slope = ((end - base) * np.log(member(base, end, t) / base)).sum(axis=-1)
    return slope / (pass_rate(end, valid) - pass_rate(base, valid))


def priced_cost(base: Values, end: Values, valid: Values, t: Values, s: Values) -> Values:
    """KL(pi_s || a) - V(pi_s)/beta, (batch,), with pi_s = (1-s) base + s end and 1/beta the `price` of t."""
    policy = member(base, end, s)
    return REVERSE_KL(policy, base) - price(base, end, valid, t) * pass_rate(policy, valid)


SEGMENT = theorem(
    "Between the base and a policy of higher pass rate, member t < 1 is the best at 1/beta = K'(t)/V'",
    statement=r"\pi_t = (1-t)\,a + t\,q,\; V(q) > V(a):\quad"
    r" K(\pi_t) - V(\pi_t)/\beta \le K(\pi_s) - V(\pi_s)/\beta \text{ for all } s \in [0,1],"
    r"\quad 1/\beta = K'(t)/V',\; K(\pi) = \mathrm{KL}(\pi\|a)",
    source=Source("ours", "a compact continuous family that is convex"),
    on=chart(
        base=simplex(4),
        other=simplex(4),
        valid=masks(4),
        **{name: rates(low=1e-3, high=1e-3) for name in ("gain", "t")},
        s=uniform(0, 1),
    ).deriving(with_end),
    at_most=(lambda base, end, valid, t: priced_cost(base, end, valid, t, t), priced_cost),
    examples=(
        FOUR_ANSWERS.but(other=".5 .2 .2 .1", gain=".6", t=".4", s=".9").giving(
            lhs="-.2898498957242", rhs="-.1844232835886"
        ),
    ),
    note="s = 1 is misspecification.validity's bound, V* - V <= beta (K* - K). As beta decreases t rises"
    " to 1: where q has"
    " every outcome of the base at the finite beta V'/K'(1), else only in the limit, as K'(1) is infinite.",
    coq="segment",
    false=(
        neighbour(
            "the most valid member, t = 1, already at that beta",
            lhs=lambda base, end, valid, t: priced_cost(base, end, valid, t, 1 + 0 * t),
        ),
    ),
)


AGREE = np.array([True, False, False, True])
"""True if an answer's two bits agree, for 00, 01, 10, 11."""
ZEROS = np.array([2, 1, 1, 0])
"""Number of bits that are 0 in 00, 01, 10, 11."""


def two_token_answers(lean: Values) -> Values:
    """Probabilities (..., 4) of two independent bits, each 0 with probability (1 + lean)/2."""
    zero, one = add_axes((1 + lean) / 2, 1), add_axes((1 - lean) / 2, 1)
    return zero**ZEROS * one ** (2 - ZEROS)


def agreeing(odds: Values) -> Values:
    """Base (..., 4) over two bits that agree at odds of `odds` to 1, with 00 and 11 equally likely."""
    disagreeing = add_axes(1 / (2 * (1 + odds)), 1)
    return np.where(AGREE, add_axes(odds, 1) * disagreeing, disagreeing)


def added_speeds(lean: Values, odds: Values) -> Values:
    """Gradients of -KL(pi || a) and of -KL(a || pi) in the logit that both bits share, (..., 2)."""
    policy, base = two_token_answers(lean), agreeing(odds)
    score = ZEROS - add_axes(1 + lean, 1)
    reverse = -(policy * score * np.log(policy / base)).sum(axis=-1)
    return np.stack([reverse, (base * score).sum(axis=-1)], axis=-1)


def speeds_in_closed_form(lean: Values, odds: Values) -> Values:
    reverse = (1 - lean * lean) / 2 * (lean * np.log(odds) - np.log((1 + lean) / (1 - lean)))
    return np.stack([reverse, -lean], axis=-1)


ACCELERATES = theorem(
    "Two tokens that cannot see each other: the gradients of both KLs in closed form",
    statement=r"\pi_m = \mathrm{Bern}(\tfrac{1+m}{2})^{\otimes 2},\;"
    r" a(00) = a(11) = e^{L} a(01) = e^{L} a(10):"
    r"\quad -\partial_\theta \mathrm{KL}(\pi_m\|a) = \tfrac{1-m^2}{2}\big(m L - \log\tfrac{1+m}{1-m}\big),"
    r"\quad -\partial_\theta \mathrm{KL}(a\|\pi_m) = -m,\quad m = \tanh(\theta/2)",
    source=Source("ours", "a family that cannot hold the base"),
    on=chart(lean=uniform(-0.95, 0.95), odds=log_uniform(1e-3, 1e3)),
    equal=(added_speeds, speeds_in_closed_form),
    examples=(example(lean=".1", odds="20", value=".0489567532872 -.1"),),
    note="The lean m towards one mode grows where the value is positive. Near balance the reverse KL adds"
    " beta m (L/2 - 1): above L = 2, odds of e^2, the penalty itself drives the policy to one mode. At a"
    " larger lean it may restore the balance all the same: at odds 7.77 and lean .5 it does. The forward KL"
    " adds -beta m and restores the balance for every base.",
    coq="penalties_on_two_bits",
    false=(
        neighbour(
            "to first order in the lean",
            rhs=lambda lean, odds: np.stack([lean * (np.log(odds) / 2 - 1), -lean], axis=-1),
        ),
        neighbour(
            "reverse KL restores the balance, as forward KL does",
            relation=Relation.AT_MOST,
            lhs=lambda lean, odds: add_axes(lean, 1) * added_speeds(lean, odds),
            rhs=lambda lean: 0 * lean[:, None],
        ),
    ),
)
