"""The effect of sampling noise on a training run, with a KL and without.

With the KL of the whole answer in the reward every coefficient vanishes at p_beta, so a constant step leaves
no noise; a penalty in the loss is not centred and keeps some, and a division by the group's std keeps
advantages of size one on differences however small. Without a KL the first hits set equally likely correct
answers apart. A baseline is free for the mean update and decides this drift.
"""

from functools import partial

import numpy as np

from ...binary_reward import tilted
from ...divergences import FORWARD_KL, REVERSE_KL
from ...fdivergence import FDivergence
from ...numeric.elementary import Values, add_axes, masked, normalised
from ...references import Source
from ...verification.charts import chart, example, log_uniform, masks, simplex, uniform
from ...verification.statement import neighbour, refuted, scaled, theorem
from .._policies import FOUR_ANSWERS, centred, entropy, expected_update


def coefficients(base: Values, valid: Values, beta: Values) -> Values:
    """Factor of each answer's score in the update at the Gibbs policy p_beta, shape (batch, answers, 2).

    The last axis has the KL in the reward, and k2 (or k3 with importance weight) in the loss. `base` and
    `valid` have shape (batch, answers), `beta` (batch,).
    """
    policy = tilted(base, valid, beta)
    penalty = add_axes(beta, 1) * np.log(policy / base)
    return np.stack([centred(policy, valid - penalty), centred(policy, valid) - penalty], axis=-1)


def zero_and_cost(base: Values, valid: Values, beta: Values, divergence: FDivergence = REVERSE_KL) -> Values:
    cost = add_axes(beta * divergence(tilted(base, valid, beta), base), 1) + 0 * base
    return np.stack([0 * cost, -cost], axis=-1)


def not_centred(base: Values, valid: Values, beta: Values) -> Values:
    """`coefficients` (batch, answers, 2) if the KL in the reward does not enter the baseline."""
    return coefficients(base, valid, beta)[..., [1, 1]]


COEFFICIENT = theorem(
    "At p_beta an answer's coefficient is 0 with the KL in the reward, and -beta KL with k2 in the loss",
    statement=r"v - \beta\log u - E_{p_\beta}(v - \beta\log u) = 0, \quad"
    r" v - V - \beta\log u = -\beta\,\mathrm{KL}(p_\beta\|a), \qquad u = p_\beta/a",
    source=Source("ours", "finite training"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.05, 20)),
    equal=(coefficients, zero_and_cost),
    examples=(FOUR_ANSWERS.giving(value=" ".join(["0 -.234005297831"] * 4)),),
    floor=1.0,
    note="k3 without importance weight has a mean of zero at its own stationary policy, and so no such noise;"
    " std-normalised, advantages keep size one on differences that vanish, and the noise stays whatever the"
    " form.",
    coq="coefficients",
    false=(
        neighbour(
            "the KL from the base to the stationary policy", rhs=partial(zero_and_cost, divergence=FORWARD_KL)
        ),
        neighbour("in the reward with a baseline of the rewards alone", lhs=not_centred),
    ),
)


def less_mean(values: Values) -> Values:
    return values - values.mean(axis=-1, keepdims=True)


def penalised_rewards(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    """Rewards v - beta log(pi/base), (batch, answers), at p_beta with logits shifted by away * push."""
    policy = normalised(tilted(base, valid, beta) * np.exp(add_axes(away, 1) * push))
    return valid - add_axes(beta, 1) * np.log(policy / base)


def advantages_of_rewards(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    """Centred penalised rewards, one sample per answer, times the std of `push`; (batch, answers)."""
    rewards = penalised_rewards(base, valid, beta, push, away)
    return less_mean(rewards) * push.std(axis=-1, keepdims=True)


def advantages_of_pushes(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    """Minus the centred `push` times the std of the penalised rewards: no division; (batch, answers)."""
    rewards = penalised_rewards(base, valid, beta, push, away)
    return -less_mean(push) * rewards.std(axis=-1, keepdims=True)


def falling_with_distance(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    return add_axes(away, 1) * advantages_of_pushes(base, valid, beta, push, away)


TRAP = theorem(
    "Std-normalised, the KL in the reward moves as much at any distance from the stationary policy",
    statement=r"\frac{r_i - \bar r}{\sigma_r} = -\frac{t_i - \bar t}{\sigma_t}, \quad"
    r" r = v - \beta\log(\pi/a),\ \pi \propto p_\beta\, e^{\epsilon t},\ \epsilon > 0",
    source=Source("ours", "finite training"),
    on=chart(
        base=simplex(4, spread=3),
        valid=masks(4),
        beta=log_uniform(0.1, 5),
        push=uniform(-1, 1, 4),
        away=log_uniform(0.01, 1),
    ),
    equal=(advantages_of_rewards, advantages_of_pushes),
    examples=(
        example(
            base=".35 .3 .2 .15",
            valid=[True, True, False, False],
            beta=".5",
            push=".6 -.4 .2 -.7",
            away=".05",
            value="-.0085527287997 .0041179805332 -.0034844450666 .0079191933331",
        ),
    ),
    floor=1.0,
    note="So its spread falls with no number of groups, and grows with the step (verl: use_kl_in_reward"
    " under GRPO's normalisation).",
    coq="trap",
    false=(
        neighbour("it falls with the distance", rhs=falling_with_distance),
        neighbour("away from the stationary policy", rhs=scaled(advantages_of_pushes, -1.0)),
    ),
)


def update_with_baseline(policy: Values, valid: Values, baseline: Values) -> Values:
    """Expected logit update E[(v - baseline)(e_y - policy)], (batch, answers); `baseline` (batch,)."""
    return expected_update(policy, valid - add_axes(baseline, 1))


def slope_of_pass_rate(policy: Values, valid: Values) -> Values:
    return policy * centred(policy, valid)


FREE = theorem(
    "Every baseline has the same expected update, that of the pass rate, and so the same speed",
    statement=r"E_\pi\,(v - c)\,\nabla\log\pi = \nabla V \quad \text{for every } c",
    source=Source("ours", "finite training"),
    on=chart(policy=simplex(4, spread=4), valid=masks(4), baseline=uniform(-1, 2)),
    equal=(update_with_baseline, slope_of_pass_rate),
    examples=(
        example(
            policy=".4 .3 .2 .1", valid=[True, True, False, False], baseline="1", value=".12 .09 -.14 -.07"
        ),
    ),
    coq="every_baseline",
    floor=1.0,
    note="What is reported of negative-sample reinforcement (arXiv 2506.01347, as summarised: it keeps"
    " Pass@k) can so come from noise, and not from another objective.",
    false=(
        neighbour(
            "the baseline in the slope",
            rhs=lambda policy, valid, baseline: policy * (valid - add_axes(baseline, 1)),
        ),
    ),
)


def separation_by_a_draw(rate: Values, tilt: Values, baseline: Values) -> Values:
    """Second moment of the change that one sampled answer makes to the difference of two correct logits.

    The two correct answers have probability rate / 2 each, two incorrect ones share the rest by `tilt`. An
    answer's update is (reward - baseline) times its score. All arguments have shape (batch,).
    """
    wrong = 1 - rate
    policy = np.stack([rate / 2, rate / 2, wrong * tilt, wrong * (1 - tilt)], axis=-1)
    valid = np.array([1.0, 1.0, 0.0, 0.0])
    apart = np.array([1.0, -1.0, 0.0, 0.0])
    # (e_y - p) along s: what of p is apart is the same number for every y.
    along = apart - add_axes((policy * apart).sum(axis=-1), 1)
    return (policy * (valid - add_axes(baseline, 1)) ** 2 * along**2).sum(axis=-1)


def by_correct_answers(rate: Values, baseline: Values) -> Values:
    return rate * (1 - baseline) ** 2


def by_all_answers(rate: Values, baseline: Values) -> Values:
    return rate * (1 - baseline) ** 2 + (1 - rate) * baseline**2


BASELINE_NOISE = theorem(
    "What a draw adds to the drift of equal correct answers goes with (1 - c)^2: nothing with c = 1",
    statement=r"E\,\big[(v-c)\,\partial_s\log\pi\big]^2 = \tfrac{2V}{K}(1-c)^2, \quad K = 2",
    source=Source("ours", "finite training"),
    on=chart(rate=uniform(0.02, 0.98), tilt=uniform(0.05, 0.95), baseline=uniform(0, 1)),
    equal=(separation_by_a_draw, by_correct_answers),
    examples=(example(rate=".3", tilt=".6", baseline=".25", value=".16875"),),
    note="The price of c = 1: while few answers are incorrect few steps have a gradient, and the pass rate is"
    " noisier on the way where most are incorrect.",
    coq="drift_of_a_draw",
    false=(neighbour("incorrect answers set them apart too", rhs=by_all_answers),),
)


def entropy_after_updates(policy: Values, step: Values, clip: float = np.inf) -> Values:
    """Mean entropy (batch,) after four steps on one answer of advantage 1 or -1, ratio clipped above."""
    mean = 0 * policy[..., 0]
    for sign in (1.0, -1.0):
        for answer in range(policy.shape[-1]):
            now = policy
            for _ in range(4):
                ratio = now[..., answer] / policy[..., answer]
                stopped = (ratio > 1 + clip) & (sign > 0)
                score = np.eye(policy.shape[-1])[answer] - now
                now = normalised(now * np.exp(add_axes(masked(sign * ratio * step, ~stopped), 1) * score))
            mean = mean + policy[..., answer] * entropy(now) / 2
    return mean


UPPER = refuted(
    "Under random rewards the upper clip lowers entropy whatever the policy: refuted",
    statement=r"E\,H(\text{ratios above 1.2 clipped}) \le E\,H(\text{not clipped})",
    source=Source("ours", "on arXiv 2509.26114, as summarised"),
    on=chart(policy=simplex(4, spread=3), step=uniform(0.05, 0.5)),
    at_most=(partial(entropy_after_updates, clip=0.2), entropy_after_updates),
    examples=(example(policy=".4 .3 .2 .1", step=".3", lhs="1.227430108", rhs="1.135250068"),),
    note="So it is where the policy is peaked. Where it is flat, noise lowers entropy and each clip lessens"
    " the noise: the upper clip keeps entropy there.",
    false=(
        neighbour(
            "not by more than a nat",
            at=example(policy=".97 .01 .01 .01", step=".5"),
            rhs=lambda policy, step: entropy_after_updates(policy, step) - 1,
        ),
    ),
)
