"""The stationary policies that the sampler, the reference, the reward and the verifier select.

Training at a temperature T is that of the policy and the base at T, and another policy when read out at one.
The KL of the whole answer in the reward vanishes at p_beta for every answer, whoever drew it; a penalty in
the loss sees the sampler. What a truncated sampler never draws keeps its logit. A reference that is reset m
times acts as beta/m. Any reward r has the stationary policy a e^(r/beta). A verifier whose errors are tied to
answers gives the true pass rate a best beta.
"""

from functools import partial

import numpy as np

from ..binary_reward import tilted
from ..divergences import REVERSE_KL
from ..numeric.elementary import Values, add_axes, masked, normalised
from ..references import Source
from ..stationary import best_beta
from ..verification.charts import chart, example, log_uniform, masks, simplex, uniform
from ..verification.statement import neighbour, theorem
from ._policies import FOUR_ANSWERS, centred, logit_update

TEMPERATURE = log_uniform(0.3, 3)
TILTED_VALUE = ".4267407565366 .284493837691 .1732592434634 .115506162309"
"""The tilted model of `FOUR_ANSWERS`."""


def powered(policy: Values, power: Values) -> Values:
    return normalised(np.exp(np.log(policy) * add_axes(power, policy.ndim - power.ndim)))


def read_at_one(base: Values, valid: Values, beta: Values, temperature: Values) -> Values:
    return powered(tilted(powered(base, 1 / temperature), valid, beta), temperature)


DECISION = theorem(
    "One decision at temperature T, read out at one: beta is divided by T",
    statement=r"\pi_T \propto a_T e^{v/\beta},\; \pi_T \propto \pi^{1/T} \;\Rightarrow\; \pi = p_{\beta/T}",
    source=Source("ours", "what the sampler selects"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.05, 20), temperature=TEMPERATURE),
    equal=(read_at_one, lambda base, valid, beta, temperature: tilted(base, valid, beta / temperature)),
    examples=(FOUR_ANSWERS.but(beta=".3", temperature=".6").giving(value=TILTED_VALUE),),
    coq="temperature_divides_beta",
    false=(
        neighbour("beta itself", rhs=tilted),
        neighbour(
            "beta T", rhs=lambda base, valid, beta, temperature: tilted(base, valid, beta * temperature)
        ),
    ),
)


def update_at_tilted(
    base: Values, valid: Values, beta: Values, sampler: Values, *, in_reward: bool = True
) -> Values:
    """Expected logit update (batch, answers) at p_beta, answers from `sampler`; KL in reward or k2 loss."""
    policy = tilted(base, valid, beta)
    penalty = add_axes(beta, 1) * np.log(policy / base)
    coefficient = centred(sampler, valid - penalty) if in_reward else centred(sampler, valid) - penalty
    return logit_update(policy, sampler * coefficient)


REWARD = theorem(
    "With the KL of the whole answer in the reward p_beta is stationary whatever the answers are drawn from",
    statement=r"\sum_y q_y\,(r_y - E_q r)\,\nabla\log p_\beta(y) = 0,"
    r" \quad r = v - \beta\log(p_\beta/a), \quad q \text{ any distribution}",
    source=Source("ours", "what the sampler selects"),
    on=chart(
        base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.05, 20), sampler=simplex(4, spread=4)
    ),
    equal=(update_at_tilted, lambda base: 0 * base),
    examples=(FOUR_ANSWERS.but(sampler=".1 .2 .3 .4").giving(value="0"),),
    coq="any_sampler",
    floor=1.0,
    note="A mismatch of rollout engine and trainer, corrected or not, does not change that. A run converges"
    " to it if q leaves no answer out ((.4, 0, .1, .3, .1, .1) converges to V = .9326 for .9492), and a KL"
    " to go is another. With k2 in the loss, samples at T = .6 and 1.5 converge to V = .84554 and .96417"
    " where full sampling has .94921 (six answers, beta = .3). There the whole answer's importance weight"
    " restores it, on reward and penalty alike; on the reward alone, or cut off where it acts, it does not;"
    " that of each token leaves the sampler's chances after the token.",
    false=(
        neighbour(
            "k2 in the loss, the rewards' mean subtracted", lhs=partial(update_at_tilted, in_reward=False)
        ),
    ),
)


def update_outside(policy: Values, nucleus: Values, advantage: Values, *, baseline: bool = True) -> Values:
    """Expected logit update (batch, answers) outside the nucleus, 0 inside; mean advantage as baseline."""
    sampler = normalised(masked(policy, nucleus))
    coefficient = centred(sampler, advantage) if baseline else advantage
    return masked(logit_update(policy, sampler * coefficient), ~nucleus)


OUTSIDE = theorem(
    "The expected update of the logit of an answer that a truncated sampler leaves out is zero",
    statement=r"\textstyle\sum q = 1,\; q_y = 0 \;\Rightarrow\; q_y (c_y - E_q c) - \pi_y \sum_z q_z (c_z -"
    r" E_q c) = 0",
    source=Source("ours", "what the sampler selects"),
    on=chart(policy=simplex(4, spread=4), nucleus=masks(4), advantage=uniform(-2, 2, 4)),
    equal=(update_outside, lambda policy: 0 * policy),
    examples=(
        example(policy=".48 .24 .08 .2", nucleus=[True, True, True, False], advantage="1 1 -1 0", value="0"),
    ),
    coq="outside_stays",
    floor=1.0,
    note="Under top-p of .95, .9 and .7 six answers converge to pass rates of .9500, .9228 and .760 at full"
    " sampling, 1 as sampled. With the KL in the reward (beta = .3, full sampling .94921): .9268, .9000,"
    " .7504; p_beta stays where its nucleus leaves nothing of it out. For sequences the share is per token.",
    false=(neighbour("no baseline", lhs=partial(update_outside, baseline=False)),),
)


RESETS = 4


def after_resets(base: Values, valid: Values, beta: Values) -> Values:
    for _ in range(RESETS):
        base = tilted(base, valid, beta)
    return base


MOVING_REFERENCE = theorem(
    "A reference set to the stationary policy, m times over: beta/m and the base's proportions",
    statement=r"a_0 = a,\; a_{k+1} \propto a_k e^{v/\beta} \;\Rightarrow\; a_m = p_{\beta/m}",
    source=Source("ours", "what the sampler selects"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.2, 20)),
    equal=(after_resets, lambda base, valid, beta: tilted(base, valid, beta / RESETS)),
    examples=(FOUR_ANSWERS.but(beta="2").giving(value=TILTED_VALUE),),
    coq="resets_divide_beta",
    note="The same on any tree with the KL of the answer in the reward. A mixup alpha of logits: beta/(1 +"
    " alpha n) after n of them.",
    false=(
        neighbour("one round fewer", rhs=lambda base, valid, beta: tilted(base, valid, beta / (RESETS - 1))),
    ),
)


def objective(policy: Values, base: Values, reward: Values, beta: Values) -> Values:
    return (policy * reward).sum(axis=-1) - beta * REVERSE_KL(policy, base)


def value_less_distance(policy: Values, base: Values, reward: Values, beta: Values) -> Values:
    weight = base * np.exp(reward / add_axes(beta, 1))
    return beta * (np.log(weight.sum(axis=-1)) - REVERSE_KL(policy, normalised(weight)))


def with_reward_capped(policy: Values, base: Values, reward: Values, beta: Values) -> Values:
    return value_less_distance(policy, base, np.minimum(reward, 1.0), beta)


ANY_REWARD = theorem(
    "For any reward r the optimum of E r - beta KL is the base weighed by e^{r/beta}: four kinds for v + w f",
    statement=r"E_q r - \beta\,\mathrm{KL}(q\|a) = \beta \log Z - \beta\,\mathrm{KL}(q\|p_r),"
    r" \quad p_r = a\,e^{r/\beta}/Z, \quad r = v + w f",
    source=Source("ours", "what the sampler selects"),
    on=chart(
        policy=simplex(4, spread=4),
        base=simplex(4, spread=4),
        reward=uniform(0, 2, 4),
        beta=log_uniform(0.1, 10),
    ),
    equal=(objective, value_less_distance),
    examples=(FOUR_ANSWERS.but(policy=".4 .3 .2 .1", reward="1.5 1 .5 0").giving(value=".7750659421525"),),
    coq="any_reward",
    note="Where the bonus weighs more than correctness, incorrect answers in form gain on correct ones out"
    " of it. Under a cap on length p_* is the base's correct answers that are short.",
    false=(neighbour("a reward above one counts as one", rhs=with_reward_capped),),
)


def true_rate(right: Values, hacks: Values, accepted: Values, refused: Values, beta: Values) -> Values:
    wrong = (1 - right - hacks) * np.exp((accepted + refused - 1) / beta)
    return right / (right + wrong + hacks * np.exp(refused / beta))


def true_rate_at_best(right: Values, hacks: Values, accepted: Values, refused: Values) -> Values:
    return true_rate(right, hacks, accepted, refused, best_beta(right, hacks, accepted, refused))


def true_rate_without_refusals(right: Values, hacks: Values, accepted: Values, refused: Values) -> Values:
    """True pass rate (batch,) at the beta that ignores that correct answers may be refused.

    The base's masses are `right` (correct) and `hacks` (pass always); `accepted` and `refused` are the
    chances that another incorrect answer passes and that a correct one fails.
    """
    beta = (1 - accepted) / np.log((1 - right - hacks) / hacks)
    return true_rate(right, hacks, accepted, refused, beta)


BEST = theorem(
    "Where some incorrect answers always pass, the true pass rate is highest at one beta",
    statement=r"V(\beta) \le V(\beta^*), \quad \beta^* = \frac{1-\varphi}{\log(J A_0/(\nu h))},"
    r" \quad J = 1 - \varphi - \nu,\; J A_0 > \nu h;\quad \text{base mass } h \text{ of incorrect"
    r" answers that always pass, } A_0 \text{ of other incorrect ones, which pass with chance } \varphi;"
    r" \text{ correct ones are refused with chance } \nu",
    source=Source("ours", "what the sampler selects"),
    on=chart(
        right=uniform(0.05, 0.5),
        hacks=log_uniform(1e-6, 1e-2),
        accepted=uniform(0, 0.3),
        refused=uniform(0.02, 0.3),
        beta=log_uniform(0.02, 5),
    ),
    at_most=(true_rate, true_rate_at_best),
    examples=(
        example(right=".2", hacks=".001", accepted=".05", refused=".1", beta=".02").giving(
            lhs=".574031131646", rhs=".986051133062"
        ),
    ),
    coq="best_under_hacks",
    note="With 20% correct, a thousandth of hacks, 5% of incorrect answers accepted and 10% of correct ones"
    " refused the best beta is .107668.",
    false=(
        neighbour(
            "the odds of wrong to hacks alone",
            at=example(right=".2", hacks=".001", accepted=".05", refused=".1", beta=".11"),
            rhs=true_rate_without_refusals,
        ),
    ),
)
