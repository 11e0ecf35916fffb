"""Published claims, as summarised, and what holds of each.

k2 in the loss against k1 in the reward.

That k2 in the loss and k1 in the reward have one gradient is true for one token and false for sequences:
the loss leaves out the KL of the tokens to come.

GRPO's weight of a prompt.

That GRPO weighs prompts by 1/sqrt(p(1-p)) is the limit of large groups; groups of 4, 8 and 64 do not.

The order of MaxRL.

That MaxRL's objective has the order of the group size: where all-wrong groups are dropped it is one less.

Entropy under a reward.

That an update by reward never raises entropy: it does where the base prefers one incorrect answer to several
correct ones.

Pass rate against entropy.

That the pass rate is a function -c e^H + d of entropy along training: along the tilted path both can rise
together.

PKPO's weights.

That PKPO's weights of a sample, k/n if correct and (k/n) rho(n-1, c, k-1) if not, are unbiased for the
gradient of pass@k: they are.

Does reverse KL accelerate the decay?

That reverse KL accelerates the decay of correct answers: for unrestricted policies it delays the path of
the reward.

Ever fewer answers as beta decreases?

That the model keeps ever fewer answers as beta falls: the number of valid answers kept can rise again.

Group size and the path.

That the path of the expected gradient does not depend on the group size, which sets its noise alone: not
where advantages are std-normalised.

Does reinforcement learning end closest to the base?

That on-policy updates end, of all policies that solve a task, at the one closest in KL: natural gradients do,
plain ones do not.
"""

from collections.abc import Callable
from functools import partial
from math import comb

import numpy as np

from ..binary_reward import filtered, tilted, valid_mass
from ..divergences import REVERSE_KL, stacked
from ..finite_training.decision import uniform_on_likeliest
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..restricted import projection
from ..verification.charts import chart, example, log_uniform, masks, rates, simplex, uniform
from ..verification.statement import neighbour, refuted, scaled, theorem
from ._estimators import K2
from ._group_weights import expected_weights
from ._policies import (
    TRAINING_RUN,
    TRAINING_RUNS,
    chosen_member,
    entropy,
    lost_with_penalty,
    lost_without_penalty,
)
from ._token_pairs import FIRST_AND_SECOND, FIRST_DIFFERS, first_token_gradient, kl_to_come

PASS_RATES = chart(validity=rates(low=1e-3, high=1e-3))


def k2_gradient(first: Values, ref_first: Values) -> Values:
    """The first token's expected gradient of k2 in the loss, prefixes as sampled."""
    return K2.loss_gradient(first, ref_first)


def with_half_to_come(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    return k2_gradient(first, ref_first) + kl_to_come(first, second, ref_second, 0.5)


LOSS = refuted(
    "F1.loss",
    "k2 in the loss equals k1 in the reward: refuted for sequences",
    statement=r"\nabla \textstyle\sum_t E_{s_t}\tfrac12\log^2\tfrac{\pi}{\pi_{ref}} = \nabla\,"
    r"\mathrm{KL}(\pi\|\pi_{ref}) \text{ of whole answers}",
    source=Source("liu2025rethinking", "as summarised; the paper was not read"),
    on=FIRST_AND_SECOND,
    equal=(k2_gradient, first_token_gradient),
    examples=(FIRST_DIFFERS,),
    note="True for answers of one token (kl_estimators.squared). For sequences the loss leaves out the KL"
    " of the tokens"
    " to come (published_claims.future), and its stationary policy is another one (E2, E3).",
    false=(neighbour("half of the KL to come is in it", lhs=with_half_to_come),),
)


def with_future(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    return REVERSE_KL.gradient(first, ref_first) + kl_to_come(first, second, ref_second)


def with_uncentred_future(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    return REVERSE_KL.gradient(first, ref_first) + first * REVERSE_KL(second, ref_second)


FUTURE = theorem(
    "F1.future",
    "The gradient of the KL of sequences is the token one plus the centred KL of the tokens to come",
    statement=r"\nabla_{\theta_x} \mathrm{KL}(\pi\|\pi_{ref}) ="
    r" \nabla_{\theta_x}\mathrm{KL}(\pi_1\|\pi_{ref,1})"
    r" + \pi_1(x)\big(K_x - E_{\pi_1} K\big),\; K_x \text{ the KL after } x,\; \pi > 0",
    source=Source("tang2025pitfalls", "known; also yao2026future"),
    on=FIRST_AND_SECOND,
    equal=(first_token_gradient, with_future),
    examples=(
        example(
            first=".5 .3 .2",
            second=[".5 .3 .2", ".2 .7 .1", ".3 .3 .4"],
            ref_first=".3 .3 .4",
            ref_second=[".2 .4 .4", ".6 .3 .1", ".25 .25 .5"],
            value=".1973024929842 .0071862295951 -.2044887225793",
        ),
    ),
    coq="kl_to_come",
    false=(neighbour("the KL to come not centred", rhs=with_uncentred_future),),
)


GROUP_SIZES = (4, 8, 64)


def population_weight(validity: Values) -> Values:
    return trailing(1 / np.sqrt(validity * (1 - validity)), 1)


def rescaled_population_weight(validity: Values) -> Values:
    """The claim's refinement by the factor that makes it exact at p = 1/2."""
    return population_weight(validity) * expected_weights(GROUP_SIZES, np.full_like(validity, 0.5)) / 2


DEVIATION = refuted(
    "F2.deviation",
    "GRPO weighs prompts by 1/sqrt(p(1-p)): refuted for groups of 4, 8 and 64",
    statement=r"\alpha_G(p) = 1/\sqrt{p(1-p)}",
    source=Source("mroueh2025grpo", "true of the population std"),
    on=PASS_RATES,
    equal=(partial(expected_weights, GROUP_SIZES), population_weight),
    examples=(example(validity=".01", lhs="1.49602 2.44037 6.68336", rhs="10.0504 10.0504 10.0504"),),
    note="The limit of large groups at fixed p; the kernel has G = 4. At p = .01 it is 10.05, alpha_8 2.44;"
    " the weight is bounded by (G-1)/sqrt G (group_advantages.ends).",
    coq="not_the_deviation",
    false=(neighbour("up to a factor for each group size", rhs=rescaled_population_weight),),
)


SMALL_SIZES = (2, 4, 8)


def summed_slopes(validity: Values, beyond: int = 0) -> Values:
    """d/dV of sum_{k <= G + beyond} pass@k/k, which is the sum of (1-V)^(k-1)."""
    powers = (1 - trailing(validity, 1)) ** np.arange(max(SMALL_SIZES) + beyond)
    return powers.cumsum(axis=-1)[..., [size + beyond - 1 for size in SMALL_SIZES]]


ORDER = refuted(
    "F3.order",
    "MaxRL's order is the group size: refuted, it is G - 1",
    statement=r"\alpha_G(V) = \tfrac{d}{dV}\textstyle\sum_{k=1}^{G} \tfrac{1-(1-V)^k}{k}",
    source=Source("tajwar2026maxrl", "as summarised; the paper was not read"),
    on=PASS_RATES,
    equal=(partial(expected_weights, SMALL_SIZES, scale="mean"), summed_slopes),
    examples=(example(validity=".25", lhs="1 2.3125 3.46606", rhs="1.75 2.734375 3.59955"),),
    note="Of (r - mean)/mean with all-wrong groups dropped the sum stops at k = G - 1"
    " (group_advantages.mean). Of r/mean"
    " it stops at G: where groups are dropped, subtracting the mean is not free.",
    coq="not_the_group_size",
    false=(neighbour("order G + 1", rhs=partial(summed_slopes, beyond=1)),),
)


ENTROPY = refuted(
    "F4.entropy",
    "A reward update never raises entropy: refuted",
    statement=r"H(p_\beta) \le H(a)",
    source=Source("wu2025leash", "as described by others; the paper was not read"),
    on=chart(base=simplex(4, spread=3.0), valid=masks(4), beta=log_uniform(0.1, 10)),
    at_most=(lambda base, valid, beta: entropy(tilted(base, valid, beta)), lambda base: entropy(base)),
    examples=(
        example(base=".7 .1 .1 .1", valid=[False, True, True, True], beta=".5").giving(
            lhs="1.3860250442586", rhs=".9404479886553"
        ),
    ),
    note="Where the base prefers an incorrect answer, moving its mass to several valid ones raises entropy:"
    " .9404 to 1.3860 in the example, 1.0986 filtered. KL control keeps the ratios among valid answers (E1).",
    coq="entropy_rises",
    false=(
        neighbour(
            "not by more than one nat",
            at=example(base=".02 .02 .02 .94", valid=[True, True, True, False], beta=".3"),
            rhs=lambda base: entropy(base) + 1,
        ),
    ),
)


def product_of_changes(early: Values, late: Values, valid: Values) -> Values:
    """The change of pass rate times that of entropy."""
    return (valid_mass(late, valid) - valid_mass(early, valid)) * (entropy(late) - entropy(early))


def changes_along_path(base: Values, valid: Values, beta: Values, less: Values) -> Values:
    return product_of_changes(tilted(base, valid, beta), tilted(base, valid, beta * less), valid)


def changes_from_base(base: Values, valid: Values, beta: Values) -> Values:
    return product_of_changes(base, tilted(base, valid, beta), valid)


EXCHANGE = refuted(
    "F5.exchange",
    "Pass rate R = -c e^H + d along training: refuted as an identity",
    statement=r"R = -c\,e^{H} + d,\; c > 0 \;\Rightarrow\; \Delta R\,\Delta H \le 0 \text{ along } p_\beta",
    source=Source("cui2025entropy", "stated there as an empirical fit"),
    on=chart(
        base=simplex(4, spread=3.0), valid=masks(4), beta=log_uniform(0.2, 10), less=log_uniform(0.2, 0.9)
    ),
    at_most=(changes_along_path, lambda beta: 0 * beta),
    examples=(
        example(base=".7 .1 .1 .1", valid=[False, True, True, True], beta="1", less=".5").giving(
            lhs=".0232152689972", rhs="0"
        ),
    ),
    note="Along the tilted path entropy can rise with the pass rate (F4). A fit to runs whose entropy falls"
    " may hold there; the objective does not imply it.",
    false=(neighbour("from the base on", lhs=changes_from_base),),
)


CASES = ((4, 2), (6, 3), (8, 8))
"""Samples n and the k of pass@k."""


def rho(n: int, c: int, k: int) -> float:
    """The unbiased estimate of pass@k from c correct of n."""
    return 1 - comb(n - c, k) / comb(n, k)


def expected_gradient(
    validity: Values, rho_of_wrong: Callable[[int, int, int], float] = lambda n, c, k: rho(n - 1, c, k - 1)
) -> Values:
    """E[sum_i w_i d log P(v_i)/dV], w = k/n if correct and (k/n) rho(n-1, c, k-1) if not."""

    def mean(case: tuple[int, int]) -> Values:
        (n, k), total = case, 0 * validity
        for c in range(n + 1):
            # The scores 1/V and -1/(1-V) cancel a factor of the binomial probability.
            if c:
                total = total + comb(n, c) * validity ** (c - 1) * (1 - validity) ** (n - c) * c * k / n
            if c < n:
                weight = (n - c) * k * rho_of_wrong(n, c, k) / n
                total = total - comb(n, c) * validity**c * (1 - validity) ** (n - c - 1) * weight
        return total

    return stacked(mean, CASES)


def slope(validity: Values) -> Values:
    """d/dV of 1 - (1-V)^k."""
    return stacked(lambda case: case[1] * (1 - validity) ** (case[1] - 1), CASES)


PKPO = theorem(
    "F6.pkpo",
    "PKPO's weights, k/n if correct and (k/n) rho(n-1,c,k-1) if not, are unbiased for grad pass@k",
    statement=r"E\textstyle\sum_i w_i \nabla\log\pi(y_i) = \nabla\,\mathrm{pass@}k,\quad"
    r" w = \tfrac kn \text{ or } \tfrac kn \rho(n-1, c, k-1)",
    source=Source("walder2025pkpo"),
    on=chart(validity=rates(low=1e-2, high=1e-2)),
    equal=(expected_gradient, slope),
    examples=(example(validity=".25", value="1.5 1.6875 1.06787109375"),),
    false=(
        neighbour("rho(n,c,k)", lhs=partial(expected_gradient, rho_of_wrong=rho)),
        neighbour(
            "rho(n-1,c,k)",
            lhs=partial(expected_gradient, rho_of_wrong=lambda n, c, k: rho(n - 1, c, min(k, n - 1))),
        ),
    ),
)


DECAY = refuted(
    "F7.decay",
    "'Reverse KL actively accelerates the decay': refuted for unrestricted policies",
    statement=r"\mathrm{KL}(a\|q_t^{0}) \le \mathrm{KL}(a\|q_t^{\beta}),\quad"
    r" q_t^\beta \text{ from } a \text{ by the natural gradient of } E_q v - \beta\,\mathrm{KL}(q\|a)",
    source=Source("li2025choice", "the motivation of mass-covering divergences", figure="kl_both_ways"),
    on=TRAINING_RUNS,
    at_most=(lost_without_penalty, lost_with_penalty),
    examples=(TRAINING_RUN.giving(lhs=".3755571176516", rhs=".1673965370199"),),
    note="The opposite holds at every time (implicit_bias.slower): the penalty delays the same path, and"
    " p_beta ends it"
    " (implicit_bias.penalised, A4). It does hold in a family that cannot follow the base: where tokens"
    " cannot see each"
    " other, reverse KL itself drives the policy to one of two modes (misspecification.accelerates). E7"
    " says what else the"
    " words can mean: on policy, recovery is slow.",
    false=(neighbour("or slows it by no more than a tenth", rhs=scaled(lost_with_penalty, 1.1)),),
)


def effective_number(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    """e^H on the valid answers of the member that is chosen at beta."""
    within = filtered(chosen_member(projection(family, base, valid, beta), family), valid)
    return np.exp(entropy(np.where(valid, within, 1.0)))  # 1 log 1 is no entropy.


def at_smaller_beta(family: Values, base: Values, valid: Values, beta: Values, fraction: Values) -> Values:
    return effective_number(family, base, valid, fraction * beta)


FEWER = refuted(
    "F8.fewer",
    "'Ever fewer valid answers as beta decreases': refuted, even for restricted families",
    statement=r"\beta' \le \beta \;\Rightarrow\;"
    r" e^{H(\pi_{\beta'}(\cdot|Y_1))} \le e^{H(\pi_\beta(\cdot|Y_1))},"
    r"\quad \pi_\beta = \arg\min_{\pi\in\Pi} \mathrm{KL}(\pi\|p_\beta)",
    source=Source("dymetman2026binary", "misspecification, as summarised", figure="collapse"),
    on=chart(
        family=simplex(4, 3),
        base=simplex(4),
        valid=masks(4),
        beta=log_uniform(1e-2, 1e2),
        fraction=uniform(0.01, 1),
    ),
    at_most=(at_smaller_beta, effective_number),
    examples=(
        example(
            family=[".5 .1 .4", ".4 .4 .2"],
            base=".5 .1 .4",
            valid=[True, True, False],
            beta="10",
            fraction=".01",
        ).giving(lhs="2", rhs="1.5691925832142"),
    ),
    note="In the example the member nearest to the base keeps 1.57 of two valid answers; the more valid one,"
    " which a smaller beta chooses, keeps both. What does go one way, in every family, is the pass rate and"
    " the KL to the base: both rise as beta decreases (misspecification.monotone). Fewer answers are kept"
    " in the limit if"
    " Diracs alone are fully valid (misspecification.collapse); with p_beta in the family no ratio among"
    " valid answers"
    " moves (kl_control.mixture).",
    false=(
        neighbour(
            "by no more than 1.9 answers more",
            at=example(
                family=[".26 .24 .25 .25", ".36 .22 .034 .386", ".0011 .000033 .43 .568867"],
                base=".0024 .0042 .9891 .0043",
                valid=[True, True, True, False],
                beta=".79",
                fraction=".14",
            ),
            rhs=lambda family, base, valid, beta: effective_number(family, base, valid, beta) + 1.9,
        ),
    ),
)


def weights_of_groups(validity: Values) -> Values:
    return expected_weights(SMALL_SIZES, validity)


def weights_of_doubled_groups(validity: Values) -> Values:
    return expected_weights([2 * size for size in SMALL_SIZES], validity)


def rescaled_weights(validity: Values) -> Values:
    """The same times what makes the two equal at V = 1/2: if the group size were a mere rescaling of time."""
    half = np.full_like(validity, 0.5)
    rescaling = weights_of_groups(half) / weights_of_doubled_groups(half)
    return weights_of_doubled_groups(validity) * rescaling


GROUPS = refuted(
    "F9.groups",
    "The group size leaves GRPO's expected-gradient path as it is: refuted",
    statement=r"\alpha_G(V) = \alpha_{2G}(V)",
    source=Source("ghosh2026predictable", "as its abstract can be read; the paper was not read"),
    on=PASS_RATES,
    equal=(weights_of_groups, weights_of_doubled_groups),
    examples=(example(validity=".01"),),
    note="The weight of a prompt is alpha_G(V) (E4): at V = .01 it is .707, 1.496 and 2.440 for groups of 2,"
    " 4 and 8, at V = .5 .707, 1.400 and 1.736. So neither is it a mere change of clock or of beta: rare"
    " successes gain more from larger groups than even ones. Without the division the path is that of the"
    " pass rate for every G, and the group size sets the noise alone (G3).",
    false=(neighbour("up to another clock", rhs=rescaled_weights),),
)


def distance_of_limit(base: Values, valid: Values) -> Values:
    return REVERSE_KL(uniform_on_likeliest(base, valid), base)


def least_distance(base: Values, valid: Values) -> Values:
    return -np.log(valid_mass(base, valid))


RAZOR = refuted(
    "F10.closest",
    "Policy gradients converge to the solution closest in KL to the base: refuted for one decision's softmax",
    statement=r"\mathrm{KL}(q_\infty\|a) = \min_{q(Y_1) = 1} \mathrm{KL}(q\|a)",
    source=Source("shenfeld2025razor", "as its abstract can be read; the paper was not read"),
    on=chart(base=simplex(4, spread=2), valid=masks(4)),
    equal=(distance_of_limit, least_distance),
    examples=(TRAINING_RUN,),
    note="The least is -log A1, at the filtered model alone (frontier.closest): .5108 in the example. The"
    " plain"
    " gradient of one decision's logits ends uniform on the likeliest correct answers"
    " (implicit_bias.plain_limit): 1.2040;"
    " where tokens share prefixes its limit is another (implicit_bias.plain_limit's neighbour). The"
    " natural gradient"
    " converges to the filtered model (A3), and so does KL control as beta falls to 0 (A6): what is closest"
    " is selected by the geometry or the penalty, not by sampling on policy.",
    false=(
        neighbour("farther by no more than a quarter", at=TRAINING_RUN, lhs=scaled(distance_of_limit, 0.8)),
    ),
)
