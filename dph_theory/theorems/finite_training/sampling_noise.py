"""What sampling noise does to a training run, with a KL and without.

Noise at the stationary policy.

Where training stands still on average it may still shake: a sampled answer moves the policy by its
coefficient, what multiplies the gradient of its log-probability. With the KL of the whole answer in the
reward every coefficient vanishes at p_beta, so that a constant step leaves no noise; a penalty in the loss is
not centred, and keeps one.

A trap: dividing what vanishes.

KL in the reward leaves no noise at the stationary policy. Std-normalised, penalised rewards keep advantages
of size one on differences however small: what should come to rest is shaken for ever.

Drift without a KL: the first hits decide it.

The exact flow keeps equally likely correct answers equal for ever. Sampling does not, and what it sets apart
the rise of the pass rate then multiplies.

The baseline is free for the mean, and decides the drift.

What is subtracted from rewards leaves the expected update as it is. With 1, where only incorrect answers
have a gradient, no draw sets two equal correct answers apart.

The adjoint of a training.

The variance of a measure over seeds, to first order in the noise, is a sum over steps: of each step's
covariance, seen through what the rest of the training makes of a small change.

Random rewards.

A sign that has nothing to do with the answer has no mean effect, but noise has: entropy falls where the
policy is flat, and rises where it is peaked. A clip of the ratio stops some of it; which way depends on the
policy.
"""

import warnings
from functools import partial

import numpy as np

from ...binary_reward import tilted
from ...divergences import FORWARD_KL, REVERSE_KL
from ...fdivergence import FDivergence
from ...finite_training.drift import SmallNoiseWarning, drift_deviation, stationary_spread
from ...numeric.elementary import Values, add_axes, masked, normalised
from ...references import Source
from ...verification.charts import chart, example, integers, log_uniform, masks, simplex, uniform
from ...verification.statement import neighbour, refuted, scaled, theorem
from .._policies import FOUR_ANSWERS, centred, entropy, expected_update


def coefficients(base: Values, valid: Values, beta: Values) -> Values:
    """Of each answer at p_beta: with the KL in the reward, and with k2 or the corrected k3 in the loss."""
    policy = tilted(base, valid, beta)
    penalty = add_axes(beta, 1) * np.log(policy / base)
    return np.stack([centred(policy, valid - penalty), centred(policy, valid) - penalty], axis=-1)


def zero_and_cost(base: Values, valid: Values, beta: Values, divergence: FDivergence = REVERSE_KL) -> Values:
    cost = add_axes(beta * divergence(tilted(base, valid, beta), base), 1) + 0 * base
    return np.stack([0 * cost, -cost], axis=-1)


def not_centred(base: Values, valid: Values, beta: Values) -> Values:
    """With a baseline of the rewards alone in the reward too."""
    return coefficients(base, valid, beta)[..., [1, 1]]


def balanced_spread(base: Values, beta: Values) -> Values:
    """The variance of s at which relaxation and the noise of one answer a step of size one balance.

    Over outcomes of which the first two are correct and equally likely: s relaxes at its slope, and each
    answer drawn adds its coefficient times its score.
    """
    base = np.stack([base, base, 1 - 2 * base], axis=-1)
    valid = np.array([1.0, 1.0, 0.0]) + 0 * base
    policy = tilted(base, valid, beta)
    apart = np.array([1.0, -1.0, 0.0])
    spread = policy[..., :, None] * np.eye(3) - policy[..., :, None] * policy[..., None, :]
    along = spread @ apart
    # The covariance of one answer's update: its coefficient is the same number for every answer.
    noise = coefficients(base, valid, beta)[..., 0, 1] ** 2 * (along @ apart)
    return noise / (2 * beta * along[..., 0])


def spread_by_formula(base: Values, beta: Values) -> Values:
    return stationary_spread(2 * base, beta, form="k2", step=1.0, answers=1) ** 2


COEFFICIENT = theorem(
    "At p_beta an answer's coefficient is 0 with the KL in the reward, and -beta KL with k2 in the loss",
    statement=r"v - \beta\log u - E_{p_\beta}(v - \beta\log u) = 0, \quad"
    r" v - V - \beta\log u = -\beta\,\mathrm{KL}(p_\beta\|a), \qquad u = p_\beta/a",
    source=Source("ours", "finite training"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.05, 20)),
    equal=(coefficients, zero_and_cost),
    examples=(FOUR_ANSWERS.giving(value=" ".join(["0 -.234005297831"] * 4)),),
    floor=1.0,
    note="Plain k3 has a mean of zero at its own stationary policy, and so no such noise;"
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

SPREAD = theorem(
    "With k2 or the corrected k3 in the loss a log ratio's stationary variance is eta beta KL^2/N",
    statement=r"\mathrm{Var}\, s = \tfrac{\eta}{N}\,\beta\,\mathrm{KL}(p_\beta\|a)^2,"
    r" \quad s = \log\tfrac{\pi(y_1)}{\pi(y_2)},\ a(y_1) = a(y_2)",
    source=Source("ours", "finite training"),
    on=chart(base=uniform(0.05, 0.45), beta=log_uniform(0.1, 5)),
    equal=(balanced_spread, spread_by_formula),
    examples=(example(base=".35", beta=".5"),),
    note="First order in the noise; .1348 sqrt(eta/N) for A1 = .7 at beta = .5.",
    false=(neighbour("half of it", rhs=scaled(spread_by_formula, 0.5)),),
)


def less_mean(values: Values) -> Values:
    return values - values.mean(axis=-1, keepdims=True)


def penalised_rewards(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    """The rewards `away` times a push from p_beta in logits."""
    policy = normalised(tilted(base, valid, beta) * np.exp(add_axes(away, 1) * push))
    return valid - add_axes(beta, 1) * np.log(policy / base)


def advantages_of_rewards(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    """Centred rewards of a group that holds each answer once, times the std of the pushes."""
    rewards = penalised_rewards(base, valid, beta, push, away)
    return less_mean(rewards) * push.std(axis=-1, keepdims=True)


def advantages_of_pushes(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    """The same the other way round: cross-multiplied, nothing is divided by what may vanish."""
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


def growth(rate: Values, valid: Values, invalid: Values, eps: float) -> Values:
    """d log s over d log odds along E v, where two correct answers are eps apart in logits."""
    masses = rate / valid
    first, second = masses * np.exp(eps / 2), masses * np.exp(-eps / 2)
    mass = rate - 2 * masses + first + second
    total = mass + 1 - rate
    first, second, mass = first / total, second / total, mass / total
    # Each logit moves at p (v - V); the log odds of being correct as the logits of both kinds do.
    apart = (first - second) * (1 - mass)
    odds = mass * (1 - mass) * (1 / valid + 1 / invalid)
    return apart / eps / odds


GROWTH = theorem(
    "Without a KL the log ratio of two correct answers grows as a power of the odds of being correct",
    statement=r"\frac{d\log s}{d\log O} = g = \frac{n_0}{n_0 + K}, \quad O = \frac{V}{1-V},\ s \to 0",
    source=Source("ours", "finite training"),
    on=chart(rate=uniform(0.02, 0.98), valid=integers(2, 9), invalid=integers(1, 40)),
    tends=(growth, lambda valid, invalid: invalid / (invalid + valid)),
    examples=(example(rate=".3", valid="2", invalid="8"),),
    tolerance=1e-6,
    ladder=(1e-1, 1e-2, 1e-3),
    false=(neighbour("the share of correct answers", rhs=lambda valid, invalid: valid / (invalid + valid)),),
)


def by_quadrature(rate: Values, gained: Values, valid: Values, invalid: Values, noise: Values) -> Values:
    """The variance where only correct answers are reinforced, by `drift_deviation`."""
    right, wrong = (np.asarray(part).astype(int) for part in (valid, invalid))
    reached = rate + gained * (1 - rate)
    # A formula is compared with a formula: whether the noise is small is no matter here.
    with warnings.catch_warnings(action="ignore", category=SmallNoiseWarning):
        deviation = drift_deviation(
            rate, reached, valid=right, invalid=wrong, step=noise, answers=1, baseline="none"
        )
    return deviation**2


def in_closed_form(rate: Values, gained: Values, valid: Values, invalid: Values, noise: Values) -> Values:
    power = 2 * invalid / (invalid + valid)
    reached = rate + gained * (1 - rate)
    before, after = rate / (1 - rate), reached / (1 - reached)
    ratio = after / before
    return noise * (ratio**power - 1 + power / (1 - power) * (after - before * ratio**power))


DRIFT = theorem(
    "Up to the odds O_T, reinforcing correct answers alone drives two equal ones apart by a closed form",
    statement=r"\mathrm{Var}\,s = \frac{\eta}{N}\Big[(O_T/O_1)^{2g} - 1"
    r" + \tfrac{2g}{1-2g}\big(O_T - O_1 (O_T/O_1)^{2g}\big)\Big]",
    source=Source("ours", "finite training"),
    on=chart(
        rate=uniform(0.02, 0.6),
        gained=uniform(0.1, 0.95),
        valid=integers(2, 4),
        invalid=integers(5, 30),
        noise=log_uniform(1e-5, 1e-2),
    ),
    equal=(by_quadrature, in_closed_form),
    examples=(example(rate=".3", gained=".857142857", valid="2", invalid="8", noise=".0003125"),),
    floor=1e-12,
    note="That finite batches collapse equal answers (arXiv 2601.15609, 2602.06717, 2605.00365, as"
    " summarised) is this drift: no objective asks for it, and sqrt(eta/N) O_T/A1 says how much.",
    false=(neighbour("half of it", rhs=scaled(in_closed_form, 0.5)),),
)


def update_with_baseline(policy: Values, valid: Values, baseline: Values) -> Values:
    """E (v - c)(e_y - p), in logits."""
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
    """The second moment of what one answer adds to s, of correct answers of half the rate each."""
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


def _slopes(curvature: Values, step: Values) -> Values:
    """I + eta H of each step, H symmetric, (..., steps, 2, 2)."""
    a, b, c = (curvature[..., i] for i in range(3))
    hessian = np.stack([np.stack([a, b], axis=-1), np.stack([b, c], axis=-1)], axis=-2)
    return np.eye(2) + step[..., None, None, None] * hessian


def _covariances(noise: Values, step: Values) -> Values:
    """eta^2 C of each step, C of rank one, (..., steps, 2, 2)."""
    return step[..., None, None, None] ** 2 * noise[..., :, None] * noise[..., None, :]


def variance_forwards(curvature: Values, noise: Values, step: Values) -> Values:
    """The covariance carried along, of the first coordinate at the end."""
    slopes, added = _slopes(curvature, step), _covariances(noise, step)
    covariance = 0 * added[..., 0, :, :]
    for t in range(added.shape[-3]):
        slope = slopes[..., t, :, :]
        covariance = slope @ covariance @ np.swapaxes(slope, -1, -2) + added[..., t, :, :]
    return covariance[..., 0, 0]


def variance_by_adjoint(curvature: Values, noise: Values, step: Values) -> Values:
    """The sum over steps of lambda^T C lambda, lambda carried back from the measure."""
    slopes, added = _slopes(curvature, step), _covariances(noise, step)
    adjoint = np.broadcast_to(np.array([1.0, 0.0]), slopes[..., 0, :, 0].shape)
    variance = 0 * step
    for t in reversed(range(added.shape[-3])):
        variance = variance + np.einsum("...i,...ij,...j->...", adjoint, added[..., t, :, :], adjoint)
        adjoint = np.einsum("...ji,...j->...i", slopes[..., t, :, :], adjoint)
    return variance


def without_the_path(noise: Values, step: Values) -> Values:
    """As if no step changed what later ones do."""
    return _covariances(noise, step).sum(axis=-3)[..., 0, 0]


ADJOINT = theorem(
    "The spread of a measure over seeds is a sum over steps, by the adjoint of the expected-gradient run",
    statement=r"\mathrm{Var}\,s(\theta_T) = \sum_t \eta^2\lambda_t^\top C_t\lambda_t, \quad"
    r" \lambda_T = \nabla s,\ \lambda_t = (I + \eta H_t)^\top\lambda_{t+1}",
    source=Source("ours", "finite training"),
    on=chart(curvature=uniform(-1, 1, 4, 3), noise=uniform(-1, 1, 4, 2), step=log_uniform(0.01, 1)),
    equal=(variance_forwards, variance_by_adjoint),
    examples=(
        example(
            curvature=["1 .5 -1", "-.5 .25 .5", ".5 -1 .25", "1 1 -.5"],
            noise=[".5 1", "-1 .25", ".5 -.5", "1 .5"],
            step=".2",
        ),
    ),
    floor=1e-9,
    note="`spread_over_seeds` computes it for any torch model, with Adam's moments as state.",
    false=(neighbour("the steps' own noise alone", rhs=without_the_path),),
)


def _after_one(policy: Values, step: float) -> Values:
    """The policies after one update on one answer with advantage +1 or -1, (..., sign, answer, outcomes)."""
    score = np.eye(policy.shape[-1]) - policy[..., None, :]
    return normalised(policy[..., None, None, :] * np.exp(step * np.stack([score, -score], axis=-3)))


def entropy_change(policy: Values, eps: float) -> Values:
    """The mean change of entropy by a step of size eps on one answer, over eps^2."""
    changed = entropy(_after_one(policy, eps)).mean(axis=-2)
    return (policy * (changed - entropy(policy)[..., None])).sum(axis=-1) / eps**2


def entropy_change_by_curvature(policy: Values) -> Values:
    """Half the trace of the entropy's Hessian in logits times diag p - p p^T."""
    log_p = np.log(policy)
    high = entropy(policy)[..., None]
    slope = -policy * (log_p + high)
    spread = policy[..., :, None] * np.eye(policy.shape[-1]) - policy[..., :, None] * policy[..., None, :]
    hessian = -(log_p + high + 1)[..., :, None] * spread - policy[..., :, None] * slope[..., None, :]
    return (hessian * spread).sum(axis=(-2, -1)) / 2


ENTROPY_NOISE = theorem(
    "Random rewards change entropy by noise: half the trace of its Hessian times the score's spread",
    statement=r"E\,\Delta H = \tfrac{\eta^2\,\mathrm{Var}A}{2N}\,\mathrm{tr}\big(\nabla^2 H\,"
    r"(\mathrm{diag}\,p - pp^\top)\big) + O(\eta^3)",
    source=Source("ours", "finite training"),
    on=chart(policy=simplex(4, spread=2)),
    tends=(entropy_change, entropy_change_by_curvature),
    examples=(example(policy=".4 .3 .2 .1"), example(policy=".9 .05 .03 .02")),
    tolerance=1e-3,
    ladder=(1e-1, 1e-2, 1e-3),
    note="The trace is -.1916 for (.4, .3, .2, .1) and positive for peaked policies: with one answer of mass"
    " x and n-1 equal ones it turns at x = .8240 (n = 2), .7183 (4), .6497 (10).",
    false=(neighbour("twice as much", rhs=scaled(entropy_change_by_curvature, 2)),),
)


def entropy_after_updates(policy: Values, step: Values, clip: float = np.inf) -> Values:
    """The mean entropy after four updates on one answer of random sign, the ratio clipped above."""
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
