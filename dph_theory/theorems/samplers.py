"""Which stationary policy the sampler, the reference, the reward and the verifier select.

A temperature in rollouts and log-probabilities alike.

Logits are divided by T everywhere, so training is that of the policy at T, against the base at T, and the
results without one hold there. Read out at temperature one it is another policy.

The KL in the reward does not see the sampler.

Its coefficient, less any average of itself, vanishes at p_beta for every answer, whoever drew it. That of a
penalty in the loss is not centred, and sees it.

Truncated rollouts.

What top-p, top-k or min-p leave out is never drawn, and its logit does not move. So training without a KL
ends where all that is drawn is correct: at full sampling a pass rate of about the share kept, not 1.

A reference that follows.

Reset to the stationary policy, m times: as one training at beta/m. The natural gradient of each token is
the tilt of the whole answer, so many resets of a token penalty lead to the filtered model too.

Rollouts that are some updates old.

Old and new agree at the stationary policy, which staleness does not change; it bounds the step with which a
run still converges to it.

Another reward beside correctness.

With the KL of the answer in the reward, any reward r has the stationary policy a e^{r/beta}: a bonus on form,
or a cap on length, makes other kinds of answers, each in the base's proportions.

Truncated answers masked out of the loss.

With the KL in the reward, less the mean of the finished, the masked answers' logits stay, and the sum of the
others': nothing but these constrains how often answers are cut.

A verifier whose errors are tied to answers.

Some incorrect answers always pass. As beta falls the correct ones gain first and these hacks last, so the
true pass rate has a best beta; errors that do not depend on the answer have none.
"""

from functools import cache, partial

import numpy as np

from ..binary_reward import tilted
from ..divergences import REVERSE_KL
from ..finite_training import largest_stable_step
from ..numeric.elementary import Values, add_axes, masked, normalised
from ..references import Source
from ..stationary import best_beta, sequence_policy
from ..tokens import sequences
from ..verification.charts import chart, example, integers, log_uniform, masks, simplex, uniform
from ..verification.statement import neighbour, theorem
from ._policies import FOUR_ANSWERS, centred, logit_update
from ._token_trees import TREE, TREES, flat, verifier

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


def tree_read_at_one(
    first: Values, second: Values, valid: Values, beta: Values, temperature: Values
) -> Values:
    base = [powered(table, 1 / temperature) for table in (first, second)]
    policy = sequence_policy(base, verifier(first, valid), beta)
    return sequences([powered(table, temperature) for table in policy])


def tree_in_closed_form(
    first: Values, second: Values, valid: Values, beta: Values, temperature: Values
) -> Values:
    gain = np.exp(verifier(first, valid) / add_axes(beta, 2))
    chance = (powered(second, 1 / temperature) * gain).sum(axis=-1) ** add_axes(temperature, 1)
    return sequences([normalised(first * chance), normalised(second * gain ** add_axes(temperature, 2))])


def tree_at_another_beta(
    first: Values, second: Values, valid: Values, beta: Values, temperature: Values
) -> Values:
    return sequences(sequence_policy([first, second], verifier(first, valid), beta / temperature))


TEMPERATURE_ON_TREE = theorem(
    "On a tree, with the KL of the answer in the reward, no beta does what a temperature does",
    statement=r"\pi(t|s) \propto a(t|s)\,Z_T(s,t)^T, \quad Z_T(s,t) = E_{a_T}[e^{v/\beta} \mid s, t]",
    source=Source("ours", "what the sampler selects"),
    on=chart(**TREES.parts, temperature=TEMPERATURE),
    equal=(tree_read_at_one, tree_in_closed_form),
    examples=(
        TREE.but(beta=".3", temperature=".6").giving(
            value=".8297909013662 .012477776296 .0711136493937 .0866176729421"
        ),
    ),
    note="The first token has .842269, .872444, .880190 of the mass at T = .6, 1, 1.5. As beta falls: a(t|s)"
    " A1_T(s,t)^T, which at T = 1 alone is the filtered model.",
    false=(neighbour("the stationary policy at beta/T", rhs=tree_at_another_beta),),
)


def update_at_tilted(
    base: Values, valid: Values, beta: Values, sampler: Values, *, in_reward: bool = True
) -> Values:
    """In logits, at p_beta, of answers drawn from the sampler: the KL in the reward, or k2 in the loss."""
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
    """The update of the logits that the sampler leaves out, with the mean advantage as baseline or none."""
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


def tilted_tables(first: Values, second: Values, valid: Values, time: Values) -> list[Values]:
    return sequence_policy([first, second], verifier(first, valid), 1 / time)


def of_all_tokens(first: Values, second: Values) -> Values:
    return np.concatenate([first, flat(second)], axis=-1)


def token_motion(first: Values, second: Values, valid: Values, beta: Values, eps: float) -> Values:
    """The change of each token's log-probability along the tilts of the answer, a unit of time."""
    before, after = (tilted_tables(first, second, valid, beta + sign * eps / 2) for sign in (-1, 1))
    return of_all_tokens(*(np.log(new / old) / eps for old, new in zip(before, after, strict=True)))


def token_advantages(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    head, tail = tilted_tables(first, second, valid, beta)
    verdicts = verifier(first, valid)
    return of_all_tokens(centred(head, (tail * verdicts).sum(axis=-1)), centred(tail, verdicts))


def first_advantages_by_base(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    """As if a first token's reward were the base's pass rate after it."""
    head, _ = tilted_tables(first, second, valid, beta)
    return of_all_tokens(centred(head, (second * verifier(first, valid)).sum(axis=-1)), 0 * second)


TOKEN = theorem(
    "The natural gradient of each token is the tilt of the whole answer, on every tree",
    statement=r"\tfrac{d}{d\tau}\log p_{1/\tau}(t|s) = Q_\tau(s,t) - V_\tau(s)",
    source=Source("ours", "what the sampler selects"),
    on=TREES,
    tends=(token_motion, token_advantages),
    examples=(TREE,),
    tolerance=1e-4,
    ladder=(1e-2, 1e-3, 1e-4),
    note="So a token reverse KL with its reference reset n times at beta n tends to p_beta: the first"
    " correct answer has .501, .858, .896, .8996 of them at n = 1, 10, 100, 1000 (two tokens, beta = .1),"
    " where the locally filtered model gives it .5 and the filtered one .9.",
    false=(neighbour("the base's chances", rhs=first_advantages_by_base),),
)


@cache
def critical_gain(stale: int) -> float:
    """The gain from which x_{t+1} = x_t - gain x_{t-stale} no longer decays, by its largest root."""
    low, high = 0.0, 2.5
    for _ in range(40):
        gain = (low + high) / 2
        recursion = [1.0, -1.0, *[0.0] * (stale - 1), gain] if stale else [1.0, gain - 1]
        low, high = (gain, high) if np.abs(np.roots(recursion)).max() < 1 else (low, gain)
    return low


def critical_step(base: Values, valid: Values, beta: Values, stale: Values) -> Values:
    """The step at which the fastest mode near the stationary policy no longer dies out."""
    policy = tilted(base, valid, beta)
    spread = policy[:, :, None] * (np.eye(policy.shape[-1]) - policy[:, None])
    gains = np.array([critical_gain(age) for age in stale.astype(int).tolist()])
    return gains / np.linalg.eigvalsh(spread)[:, -1] / beta


def on_policy_step_by_age(base: Values, valid: Values, beta: Values, stale: Values) -> Values:
    return largest_stable_step(base, valid, beta) / (stale + 1)


STEP = theorem(
    "On rollouts k updates old, linearised at p_beta, the largest stable step is 2 sin(pi/(4k+2))/lambda",
    statement=r"\eta^* \lambda_{\max}\big(\beta\,(\mathrm{diag}\,p_\beta - p_\beta p_\beta^\top)\big)"
    r" = 2 \sin\frac{\pi}{4k+2}",
    source=Source("ours", "what the sampler selects"),
    on=chart(base=simplex(4, spread=2), valid=masks(4), beta=log_uniform(0.2, 5), stale=integers(0, 8)),
    equal=(critical_step, largest_stable_step),
    examples=(
        example(base=".15 .1 .05 .4 .3", valid=[True] * 3 + [False] * 2, beta=".4", stale=4).giving(
            value="2.5186879427386"
        ),
    ),
    tolerance=1e-8,
    note="With the KL in the reward. For k = 0, 1, 2, 4, 8: 14.505, 7.252, 4.482, 2.519, 1.338; simulated"
    " runs turn at 14.503, 7.247, 4.475, 2.510, 1.329.",
    false=(neighbour("on-policy's over k + 1", rhs=on_policy_step_by_age),),
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


FINISHED = np.arange(5) < 4


def odds(base: Values, valid: Values, beta: Values) -> Values:
    """Finished over cut, where the finished are p_beta and their logits' sum is the base's."""
    mean = add_axes(valid.sum(axis=-1), 1) / 4
    weights = base * np.exp((valid - mean) / add_axes(beta, 1))
    return masked(weights, FINISHED).sum(axis=-1) / base[..., -1]


def unshifted_odds(base: Values, valid: Values, beta: Values) -> Values:
    return masked(base * np.exp(valid / add_axes(beta, 1)), FINISHED).sum(axis=-1) / base[..., -1]


def odds_by_formula(base: Values, valid: Values, beta: Values) -> Values:
    return unshifted_odds(base, valid, beta) * np.exp(-valid.sum(axis=-1) / (4 * beta))


ODDS = theorem(
    "Masked truncation at its stationary policy: the odds of finished to cut are Z e^{-k/(n beta)}/a(cut)",
    statement=r"\theta = \log a + \tfrac{v}{\beta} + c \text{ on finished},\;"
    r" \textstyle\sum_{\text{finished}} \theta = \sum_{\text{finished}} \log a,\; \theta = \log a \text{ on"
    r" cut} \;\Rightarrow\; \frac{\pi(\text{finished})}{\pi(\text{cut})} = \frac{Z"
    r" e^{-k/(n\beta)}}{a(\text{cut})}, \quad Z = \sum_{\text{finished}} a e^{v/\beta},\; k \text{ of } n"
    r" \text{ finished right}",
    source=Source("ours", "what the sampler selects"),
    on=chart(base=simplex(5, spread=4), valid=masks(5), beta=log_uniform(0.1, 10)),
    equal=(odds, odds_by_formula),
    examples=(
        example(base=".1 .05 .3 .25 .3", valid=[True] * 2 + [False] * 3, beta=".25", value="3.9426427353991"),
        example(base=".01 .3 .2 .19 .3", valid=[True] + [False] * 4, beta=".25", value="1.5156406121339"),
    ),
    coq="masked_odds",
    note="Masked updates change neither the logits of cut answers nor the sum of the others': the stationary"
    " policy that a run from the base can reach. The base has 2.333: masking can make truncation grow. TRL,"
    " whose mean counts the cut answers too, has another limit with k2 or the corrected k3 in the loss: V ="
    " A1 e^{(1-V)/beta} of a decision, odds 2.134 in the first example.",
    false=(
        neighbour("without the shift", rhs=unshifted_odds),
        neighbour("the base's own", rhs=lambda base: (1 - base[..., -1]) / base[..., -1]),
    ),
)


def true_rate(right: Values, hacks: Values, accepted: Values, refused: Values, beta: Values) -> Values:
    wrong = (1 - right - hacks) * np.exp((accepted + refused - 1) / beta)
    return right / (right + wrong + hacks * np.exp(refused / beta))


def true_rate_at_best(right: Values, hacks: Values, accepted: Values, refused: Values) -> Values:
    return true_rate(right, hacks, accepted, refused, best_beta(right, hacks, accepted, refused))


def true_rate_without_refusals(right: Values, hacks: Values, accepted: Values, refused: Values) -> Values:
    """At the beta of the odds A0/h alone."""
    beta = (1 - accepted) / np.log((1 - right - hacks) / hacks)
    return true_rate(right, hacks, accepted, refused, beta)


BEST = theorem(
    "Where some incorrect answers always pass, the true pass rate is highest at one beta",
    statement=r"V(\beta) \le V(\beta^*), \quad \beta^* = \frac{1-\varphi}{\log(J A_0/(\nu h))},"
    r" \quad J = 1 - \varphi - \nu,\; J A_0 > \nu h",
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
