"""KL control: its optimum, its pass rate, and its limit of small beta.

Reward minus beta times the KL to the base has one optimum, the tilted model p_beta ∝ a e^(v/beta), whose pass
rate mu, shape and distance to the base are explicit: logit mu = logit A1 + 1/beta, p_beta = mu p_* + (1 - mu)
p_0, KL(p_beta||a) = kappa(mu), kappa'(mu) = 1/beta. As beta falls it tends to the filtered model at every
outcome, in total variation and in forward KL, while its reverse KL to it is infinite at every beta: p_*
cannot be a reverse-KL target. In a restricted family the number of correct answers left can rise as beta
falls.
"""

from functools import partial

import numpy as np

from ...binary_reward import (
    bernoulli_kl,
    beta_from_mu,
    filtered,
    kappa,
    log_partition,
    mu_from_beta,
    pass_rate,
    tilted,
    with_pass_rate,
)
from ...divergences import FORWARD_KL, REVERSE_KL, TOTAL_VARIATION, stacked
from ...fdivergence import FDivergence
from ...numeric.elementary import Values, add_axes
from ...references import Source
from ...restricted import projection
from ...verification.charts import chart, example, log_uniform, masks, rates, simplex, uniform
from ...verification.statement import neighbour, refuted, scaled, theorem
from .._policies import FOUR_ANSWERS, chosen_member, entropy

TILTED_MODELS = chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3))
POLICIES = chart(
    policy=simplex(4, spread=8, zeros=True),
    base=simplex(4, spread=8),
    valid=masks(4),
    beta=log_uniform(2e-3, 1e3),
)
"""Any policy beside the tilted model."""


def reward_and_distance(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return pass_rate(policy, valid) + beta * REVERSE_KL(policy, tilted(base, valid, beta))


def value_and_cost(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    # The cost stands on this side, so that nothing cancels at large beta.
    value = beta * log_partition(pass_rate(base, valid), beta)
    return value + beta * REVERSE_KL(policy, base)


def reward_and_forward_distance(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return pass_rate(policy, valid) + beta * REVERSE_KL(tilted(base, valid, beta), policy)


IDENTITY = theorem(
    "E_q v - beta KL(q||a) = beta log Z - beta KL(q||p_beta) for every q",
    statement=r"\mathbb{E}_q v + \beta\,\mathrm{KL}(q\|p_\beta)"
    r" = \beta \log Z_\beta + \beta\,\mathrm{KL}(q\|a), \quad Z_\beta = A_0 + A_1 e^{1/\beta}",
    source=Source("dymetman2026binary", "Eq. 10; KL control", figure="mu_beta"),
    on=POLICIES,
    equal=(reward_and_distance, value_and_cost),
    examples=(FOUR_ANSWERS.giving(value=".5817178710413"),),
    coq="control_identity",
    false=(neighbour("the KL to p_beta with its arguments exchanged", lhs=reward_and_forward_distance),),
)


def squared_distance(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return 2 * np.square(TOTAL_VARIATION(policy, tilted(base, valid, beta)))


def suboptimality(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """Gap of the policy to the maximum of E_q v - beta KL(q || base), divided by beta; (batch,)."""
    value = log_partition(pass_rate(base, valid), beta)
    return value - pass_rate(policy, valid) / beta + REVERSE_KL(policy, base)


UNIQUE = theorem(
    "The maximiser is p_beta alone: any other policy loses at least 2 beta TV(q, p_beta)^2",
    statement=r"2\,\mathrm{TV}(q, p_\beta)^2 \le"
    r" \tfrac{1}{\beta} \big(\beta \log Z_\beta - \mathbb{E}_q v + \beta\,\mathrm{KL}(q\|a)\big)",
    source=Source("dymetman2026binary", "KL control", figure="mu_beta"),
    on=POLICIES,
    at_most=(squared_distance, suboptimality),
    # Near an even p_beta the margin is nearly the whole loss.
    examples=(FOUR_ANSWERS.giving(lhs=".0519931887515", rhs=".0634357420826"),),
    # The loss is b KL(q||p_b), and that is Pinsker's inequality.
    coq="control_unique",
    false=(
        neighbour(
            "the maximiser is p_*",
            lhs=lambda policy, base, valid: 2 * np.square(TOTAL_VARIATION(policy, filtered(base, valid))),
        ),
    ),
)


def objective_at_tilted(base: Values, valid: Values, beta: Values) -> Values:
    """V - beta KL of the tilted policy, from its probabilities and from its pass rate alone; (batch, 2)."""
    policy, base_rate = tilted(base, valid, beta), pass_rate(base, valid)
    mu = mu_from_beta(base_rate, beta)
    objective = pass_rate(policy, valid) - beta * REVERSE_KL(policy, base)
    return np.stack([objective, mu - beta * kappa(mu, base_rate)], axis=-1)


def scaled_log_partition(base: Values, valid: Values, beta: Values) -> Values:
    return add_axes(beta * log_partition(pass_rate(base, valid), beta), 1)


def pass_rate_from_logit(base: Values, valid: Values, beta: Values) -> Values:
    return mu_from_beta(pass_rate(base, valid), beta)


VALUE = theorem(
    "The optimum with a KL penalty is beta log Z = mu - beta kappa(mu)",
    statement=r"\max_q \mathbb{E}_q v - \beta\,\mathrm{KL}(q\|a) = \beta \log Z_\beta"
    r" = \mu - \beta\,\kappa(\mu)",
    source=Source("dymetman2026binary", "KL control", figure="mu_beta"),
    on=TILTED_MODELS,
    equal=(objective_at_tilted, scaled_log_partition),
    examples=(FOUR_ANSWERS.giving(value=".4772292963966"),),
    coq="control_value",
    false=(
        neighbour(
            "the cost of the pass rate forgotten",
            rhs=lambda base, valid, beta: add_axes(pass_rate_from_logit(base, valid, beta), 1),
        ),
        neighbour(
            "log Z in place of beta log Z",
            rhs=lambda base, valid, beta: add_axes(log_partition(pass_rate(base, valid), beta), 1),
        ),
    ),
)


SOURCE = Source("dymetman2026binary", "Eq. 8; mu-beta", figure="mu_beta")


def pass_rate_of_tilted(base: Values, valid: Values, beta: Values) -> Values:
    return pass_rate(tilted(base, valid, beta), valid)


PASS_RATE = theorem(
    "The tilted model's pass rate: logit mu = logit A1 + 1/beta",
    statement=r"\operatorname{logit} p_\beta(Y_1) = \operatorname{logit} A_1 + 1/\beta",
    source=SOURCE,
    on=TILTED_MODELS,
    equal=(pass_rate_of_tilted, pass_rate_from_logit),
    coq="validity",
    examples=(FOUR_ANSWERS.giving(value=".7112345942276"),),
    false=(
        neighbour(
            "first-order gain, mu = A1 (1 + 1/beta)",
            rhs=lambda base, valid, beta: pass_rate(base, valid) * (1 + 1 / beta),
        ),
        neighbour("half the gain", rhs=lambda base, valid, beta: pass_rate_from_logit(base, valid, 2 * beta)),
    ),
)


def mixture(base: Values, valid: Values, beta: Values) -> Values:
    return with_pass_rate(pass_rate_from_logit(base, valid, beta), base, valid)


def mixture_with_base(base: Values, valid: Values, beta: Values) -> Values:
    mu = add_axes(pass_rate_from_logit(base, valid, beta), 1)
    return mu * filtered(base, valid) + (1 - mu) * base


MIXTURE = theorem(
    "p_beta = mu p_* + (1-mu) p_0",
    statement=r"p_\beta = \mu\, p_* + (1-\mu)\, p_0",
    source=SOURCE,
    on=TILTED_MODELS,
    equal=(tilted, mixture),
    coq="mixture_of_tilted",
    examples=(FOUR_ANSWERS.giving(value=".4267407565366 .284493837691 .1732592434634 .115506162309"),),
    false=(neighbour("a mixture of p_* with the whole base", rhs=mixture_with_base),),
)


def distance_to_base(base: Values, valid: Values, beta: Values) -> Values:
    return REVERSE_KL(tilted(base, valid, beta), base)


def cost_of_pass_rate(base: Values, valid: Values, beta: Values) -> Values:
    base_rate = pass_rate(base, valid)
    return kappa(mu_from_beta(base_rate, beta), base_rate)


def exchanged_cost_of_pass_rate(base: Values, valid: Values, beta: Values) -> Values:
    base_rate = pass_rate(base, valid)
    return bernoulli_kl(base_rate, mu_from_beta(base_rate, beta))


COST = theorem(
    "KL(p_beta||a) = kappa(mu), the KL of two Bernoullis",
    statement=r"\mathrm{KL}(p_\beta\|a) = \kappa(\mu) = \mathrm{kl}(\mu\|A_1)",
    source=SOURCE,
    on=TILTED_MODELS,
    equal=(distance_to_base, cost_of_pass_rate),
    coq="cost",
    examples=(FOUR_ANSWERS.giving(value=".4680105956619"),),
    false=(
        neighbour("kl with its arguments exchanged", rhs=exchanged_cost_of_pass_rate),
        neighbour(
            "the KL in the other direction",
            lhs=lambda base, valid, beta: FORWARD_KL(tilted(base, valid, beta), base),
        ),
    ),
)


def supporting_line(base_rate: Values, beta: Values, mu: Values, steeper: float = 1) -> Values:
    """Tangent of kappa at beta's pass rate, evaluated at `mu`, in nats; its slope 1/beta times `steeper`."""
    contact = mu_from_beta(base_rate, beta)
    return kappa(contact, base_rate) + (mu - contact) * steeper / beta


SLOPE = theorem(
    "kappa'(mu) = 1/beta: the line of slope 1/beta at p_beta supports the frontier",
    statement=r"\kappa'(\mu_\beta) = 1/\beta: \quad"
    r" \kappa(\mu) \ge \kappa(\mu_\beta) + \tfrac{1}{\beta} (\mu - \mu_\beta) \text{ for every } \mu",
    source=SOURCE,
    on=chart(base_rate=rates(), beta=log_uniform(1e-3, 1e3), mu=rates()),
    at_most=(supporting_line, kappa),
    coq="slope",
    examples=(example(base_rate=".25", beta=".5", mu=".7", lhs=".4455414072068", rhs=".4458463724646"),),
    false=(neighbour("a slope 2% smaller", lhs=partial(supporting_line, steeper=0.98)),),
)


def pass_rate_reached(base: Values, valid: Values, share: Values) -> Values:
    mu = target_pass_rate(base, valid, share)
    return pass_rate(tilted(base, valid, beta_from_mu(pass_rate(base, valid), mu)), valid)


def target_pass_rate(base: Values, valid: Values, share: Values) -> Values:
    """Pass rate A1 + share A0, (batch,), between the base's pass rate A1 and 1."""
    return pass_rate(base, valid) + share * pass_rate(base, ~valid)


def reached_to_first_order(base: Values, valid: Values, share: Values) -> Values:
    """Pass rate (batch,) at the beta that would reach A1 + share A0 if 1/beta were (mu - A1)/(A1 A0)."""
    return pass_rate(tilted(base, valid, pass_rate(base, valid) / share), valid)


def reached_from_ratio(base: Values, valid: Values, share: Values) -> Values:
    gain = np.log(target_pass_rate(base, valid, share) / pass_rate(base, valid))
    return pass_rate(tilted(base, valid, 1 / gain), valid)


INVERSE = theorem(
    "beta = 1/(logit mu - logit A1) reaches the pass rate mu",
    statement=r"\beta = \frac{1}{\operatorname{logit} \mu - \operatorname{logit} A_1}"
    r" \;\Rightarrow\; p_\beta(Y_1) = \mu, \quad A_1 < \mu < 1",
    source=SOURCE,
    # A share of A0 that vanished against A1 in rounding would leave no mu above A1.
    on=chart(base=simplex(4, spread=5), valid=masks(4), share=rates(low=1e-4)),
    equal=(pass_rate_reached, target_pass_rate),
    coq="inverse",
    # mu = .75, of odds 3, from a quarter, of odds 1/3.
    examples=(FOUR_ANSWERS.but(share="2/3").giving(value=".75"),),
    false=(
        neighbour("to first order, 1/beta = (mu - A1)/(A1 A0)", lhs=reached_to_first_order),
        neighbour("1/beta = log(mu/A1)", lhs=reached_from_ratio),
    ),
)


def distances_by_outcome(base: Values, valid: Values, beta: Values) -> Values:
    return abs(tilted(base, valid, beta) - filtered(base, valid))


def exponential_rate(base: Values, valid: Values, beta: Values) -> Values:
    return add_axes(pass_rate(base, ~valid) / pass_rate(base, valid) * np.exp(-1 / beta), 1)


POINTWISE = theorem(
    "p_beta is within (A0/A1) e^(-1/beta) <= (A0/A1) beta of p_* at every outcome",
    statement=r"|p_\beta(y) - p_*(y)| \le \frac{A_0}{A_1}\, e^{-1/\beta} \le \frac{A_0}{A_1}\,\beta",
    source=Source("dymetman2026binary", "Theorem 3.1a; limits", figure="tilted_to_filtered"),
    on=chart(base=simplex(4), valid=masks(4), beta=log_uniform(1e-2, 1e3)),
    at_most=(distances_by_outcome, exponential_rate),
    examples=(
        FOUR_ANSWERS.giving(
            lhs=".1732592434634 .115506162309 .1732592434634 .115506162309", rhs=".4060058497098"
        ),
    ),
    coq="pointwise",
    false=(
        neighbour(
            "a rate of e^(-1.02/beta)",
            at=example(base="9e-6 .399991 .3 .3", valid=[True, False, False, False], beta=".06"),
            rhs=lambda base, valid, beta: exponential_rate(base, valid, beta / 1.02),
        ),
    ),
)


def distance_to_filtered(base: Values, valid: Values, beta: Values) -> Values:
    return TOTAL_VARIATION(tilted(base, valid, beta), filtered(base, valid))


def invalid_mass(base: Values, valid: Values, beta: Values) -> Values:
    return 1 - mu_from_beta(pass_rate(base, valid), beta)


VARIATION = theorem(
    "TV(p_beta, p_*) = 1 - mu",
    statement=r"\mathrm{TV}(p_\beta, p_*) = 1 - \mu",
    source=Source("dymetman2026binary", "Theorem 3.1b; limits", figure="tilted_to_filtered"),
    on=TILTED_MODELS,
    equal=(distance_to_filtered, invalid_mass),
    examples=(FOUR_ANSWERS.giving(value=".2887654057724"),),
    coq="variation",
    false=(
        neighbour("the L1 distance in place of half of it", lhs=scaled(distance_to_filtered, 2)),
        neighbour(
            "the gain in pass rate, mu - A1",
            rhs=lambda base, valid, beta: 1 - pass_rate(base, valid) - invalid_mass(base, valid, beta),
        ),
    ),
)


def filtered_to_tilted(base: Values, valid: Values, beta: Values) -> Values:
    return add_axes(FORWARD_KL(tilted(base, valid, beta), filtered(base, valid)), 1)


def surprise_in_two_forms(base: Values, valid: Values, beta: Values) -> Values:
    A1, A0 = pass_rate(base, valid), pass_rate(base, ~valid)
    return np.stack([-np.log(mu_from_beta(A1, beta)), np.log1p(A0 / A1 * np.exp(-1 / beta))], axis=-1)


def base_odds_exchanged(base: Values, valid: Values, beta: Values) -> Values:
    A1, A0 = pass_rate(base, valid), pass_rate(base, ~valid)
    return add_axes(np.log1p(A1 / A0 * np.exp(-1 / beta)), 1)


FORWARD = theorem(
    "KL(p_*||p_beta) = -log mu = log(1 + (A0/A1) e^(-1/beta)) <= (A0/A1) beta",
    statement=r"\mathrm{KL}(p_*\|p_\beta) = -\log\mu = \log\big(1 + \tfrac{A_0}{A_1} e^{-1/\beta}\big)"
    r" \le \tfrac{A_0}{A_1}\,\beta",
    source=Source("dymetman2026binary", "Theorem 3.1c; limits", figure="tilted_to_filtered"),
    on=TILTED_MODELS,
    equal=(filtered_to_tilted, surprise_in_two_forms),
    examples=(FOUR_ANSWERS.giving(value=".3407529539131"),),
    coq="forward_value",
    false=(
        neighbour(
            "to first order, 1 - mu",
            rhs=lambda base, valid, beta: add_axes(invalid_mass(base, valid, beta), 1),
        ),
        neighbour("the base's odds exchanged", rhs=base_odds_exchanged),
    ),
)


def closeness_to_filtered(
    policy: Values, base: Values, valid: Values, beta: Values, divergence: FDivergence = REVERSE_KL
) -> Values:
    """e^(-D) to the filtered policy, (batch, 2): of the tilted policy, and of `policy` (full support)."""
    target = filtered(base, valid)
    return np.exp(-stacked(lambda q: divergence(q, target), (tilted(base, valid, beta), policy)))


def closeness_without_invalid(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """e^(-KL) to the filtered policy, (batch, 2), of the tilted policy and of `policy`, both filtered."""
    cleaned = (filtered(q, valid) for q in (tilted(base, valid, beta), policy))
    return np.exp(-stacked(lambda q: REVERSE_KL(q, filtered(base, valid)), cleaned))


REVERSE = theorem(
    "KL(p_beta||p_*) is infinite for every beta: p_* cannot be a reverse-KL target",
    statement=r"e^{-\mathrm{KL}(p_\beta\|p_*)} = 0 \text{ for every } \beta > 0, \quad"
    r" e^{-\mathrm{KL}(q\|p_*)} = 0 \text{ for every } q > 0",
    source=Source("dymetman2026binary", "Theorem 3.1d; limits", figure="tilted_to_filtered"),
    # Below beta = 1/700 the tilted model's invalid mass is under the smallest float.
    on=chart(policy=simplex(4), base=simplex(4), valid=masks(4), beta=log_uniform(2e-3, 1e3)),
    equal=(closeness_to_filtered, lambda beta: 0 * beta[:, None]),
    examples=(FOUR_ANSWERS.giving(value="0"),),
    coq="never_a_reverse_target",
    false=(
        neighbour("the directions exchanged", lhs=partial(closeness_to_filtered, divergence=FORWARD_KL)),
        neighbour("for policies without invalid mass", lhs=closeness_without_invalid),
    ),
)


def effective_number(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    """Exp of the entropy, over correct answers, of the family member with the largest KL-penalised reward.

    `family` has shape (batch, members, answers), `base` and `valid` (batch, answers), `beta` (batch,); the
    result has shape (batch,). The member is first conditioned on being correct.
    """
    within = filtered(chosen_member(projection(family, base, valid, beta), family), valid)
    return np.exp(entropy(np.where(valid, within, 1.0)))  # 1 log 1 is no entropy.


def at_smaller_beta(family: Values, base: Values, valid: Values, beta: Values, fraction: Values) -> Values:
    return effective_number(family, base, valid, fraction * beta)


FEWER = refuted(
    "'Ever fewer valid answers as beta decreases': refuted, even for restricted families",
    statement=r"\beta' \le \beta \;\Rightarrow\;"
    r" e^{H(\pi_{\beta'}(\cdot|Y_1))} \le e^{H(\pi_\beta(\cdot|Y_1))},"
    r"\quad \pi_\beta = \arg\min_{\pi\in\Pi} \mathrm{KL}(\pi\|p_\beta)",
    source=Source("dymetman2026binary", "Section 5; misspecification", figure="collapse"),
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
