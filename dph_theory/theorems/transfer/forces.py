"""The forces of divergences and of rehearsal on prompts that share weights.

What each divergence adds to the drive of a prompt, in its log odds.

Where nothing moves among the correct answers, nor among the others, the policy of a prompt is its pass rate
V, and a divergence from the base's rate A has a gradient on its log odds z that is a function of V and A.
As V falls to 0, those of the forward KL, of -log u and of k3 stay, those of the reverse KL, of JS and of
alpha below one vanish, and those of alpha above one grow.

What a rehearsal, or a prompt that is pinned, does for others.

It acts on another prompt by the kernel alone: it helps where the two are coupled, does nothing where they
are not, and harms where what it does to the trained prompts outweighs that.
"""

from functools import partial
from typing import Any

import numpy as np

from ...divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence, stacked
from ...numeric.elementary import expit, logit
from ...references import Source
from ...verification.charts import chart, example, rates, uniform
from ...verification.statement import neighbour, refuted, scaled, theorem
from .._linear_logits import FEATURES, Values, gradients, gram, log_odds, policy, score_sum, scores

SOURCE = Source("ours", "transfer between prompts")
ALPHA = 0.5
DIVERGENCES = (FORWARD_KL, REVERSE_KL, alpha_divergence(ALPHA), JENSEN_SHANNON)
PASS_RATES = chart(base=rates(low=1e-2, high=1e-2), rate=rates(low=1e-2, high=1e-2))
FALLEN = example(base=".3", rate=".05")
STEPS: dict[str, Any] = {"tolerance": 1e-4, "ladder": (1e-2, 1e-3, 1e-4)}


def distances(rate: Values, base: Values, z: float) -> Values:
    """Each divergence of correct and incorrect mass after a change z of the log odds."""
    moved = expit(logit(rate) + z)
    masses = np.stack([moved, 1 - moved], axis=-1), np.stack([base, 1 - base], axis=-1)
    return stacked(lambda divergence: divergence(*masses), DIVERGENCES)


def fields_by_difference(rate: Values, base: Values, eps: float) -> Values:
    """Minus the slope of each divergence in z."""
    return (distances(rate, base, -eps) - distances(rate, base, eps)) / (2 * eps)


def alpha_field(rate: Values, base: Values, alpha: Values | float) -> Values:
    """Of an alpha-divergence."""
    gap = ((1 - rate) / (1 - base)) ** -alpha - (rate / base) ** -alpha
    return -rate * (1 - rate) * gap / alpha


def fields(rate: Values, base: Values) -> Values:
    """In closed form: forward and reverse KL, alpha, the JS generator."""
    spread = rate * (1 - rate)
    js = np.log(rate * (2 - rate - base) / ((rate + base) * (1 - rate)))
    reverse = -spread * (logit(rate) - logit(base))
    return np.stack([base - rate, reverse, alpha_field(rate, base, ALPHA), -spread * js], axis=-1)


FIELDS = theorem(
    "N3.fields",
    "Nothing moving inside the classes: what a divergence to the base adds to the drive of the log odds",
    statement=r"\pi(\cdot|Y_1) = p_*,\; \pi(\cdot|Y_0) = p_0:\quad -\partial_z D_f = A - V \text{ (forward"
    r" KL)},\quad -V(1-V)(z - z_0) \text{ (reverse)},\quad"
    r" -\tfrac{V(1-V)}{\alpha}\bigl[(\tfrac{1-V}{1-A})^{-\alpha} - (\tfrac{V}{A})^{-\alpha}\bigr],\quad"
    r" -V(1-V)\log\tfrac{V(2-V-A)}{(V+A)(1-V)} \text{ (JS)}",
    source=SOURCE,
    on=PASS_RATES,
    tends=(fields_by_difference, fields),
    examples=(FALLEN.giving(rhs=".25 .099613749 .151153899 .066206876"),),
    false=(
        neighbour(
            "the forward KL's as the reverse one's",
            rhs=lambda rate, base: fields(rate, base)[..., [1, 1, 2, 3]],
        ),
    ),
    **STEPS,
)


def losses_on_correct(rate: Values, base: Values, z: float) -> Values:
    """-log u, k3 = u - 1 - log u, and the JS generator at u = V/A after a change z of the log odds."""
    x = np.log(expit(logit(rate) + z)) - np.log(base)
    return np.stack([-x, np.expm1(x) - x, JENSEN_SHANNON.on_log_ratio(x).value], axis=-1)


def rehearsal_by_difference(rate: Values, base: Values, eps: float) -> Values:
    return (losses_on_correct(rate, base, -eps) - losses_on_correct(rate, base, eps)) / (2 * eps)


def rehearsal_fields(rate: Values, base: Values) -> Values:
    failed, ratio = 1 - rate, rate / base
    return np.stack(
        [failed, failed * (1 - ratio), -failed * ratio * np.log(2 * rate / (rate + base))], axis=-1
    )


CORRECT = theorem(
    "N3.correct",
    "Nothing moving inside the classes: what a divergence on stored correct answers alone adds, as in DPH",
    statement=r"\pi(\cdot|Y_1) = p_*:\quad -\partial_z f(V/A) = 1 - V \;(-\log u),\quad (1-V)(1 - \tfrac VA)"
    r" \;(k3),\quad -\tfrac{V(1-V)}{A} f'(\tfrac VA)",
    source=SOURCE,
    on=PASS_RATES,
    tends=(rehearsal_by_difference, rehearsal_fields),
    examples=(FALLEN.giving(rhs=".95 .791666667 .198280371"),),
    false=(
        neighbour("-log u and k3 alike", rhs=lambda rate, base: rehearsal_fields(rate, base)[..., [0, 0, 2]]),
    ),
    **STEPS,
)


def fields_near_zero(base: Values, alpha: Values, eps: float) -> Values:
    """All of them at a pass rate eps; that of alpha over the power of eps as which it goes."""
    rate = eps + 0 * base
    scaled_alpha = eps ** (alpha - 1) * alpha_field(rate, base, alpha)
    return np.concatenate(
        [fields(rate, base), rehearsal_fields(rate, base), scaled_alpha[..., None]], axis=-1
    )


def remaining_fields(base: Values, alpha: Values) -> Values:
    zero = 0 * base
    return np.stack([base, zero, zero, zero, 1 + zero, 1 + zero, zero, base**alpha / alpha], axis=-1)


def without_last(base: Values, alpha: Values) -> Values:
    """As if every alpha lost its force as alpha = 1/2 does."""
    return remaining_fields(base, alpha) * (np.arange(8) < 7)


LOST = theorem(
    "N3.lost",
    "As V -> 0 forward KL, -log u and k3 keep a force, reverse KL and JS none; alpha's goes as V^(1-alpha)",
    statement=r"V \to 0:\quad -\partial_z D_f \to A \text{ (forward KL)},\; 1 \;(-\log u,\, k3 \text{ on"
    r" correct answers}),\; 0 \text{ (reverse KL, JS, alpha} = \tfrac12),\quad"
    r" -V^{\alpha-1}\,\partial_z D_\alpha \to \tfrac{A^\alpha}{\alpha}",
    source=SOURCE,
    on=chart(base=uniform(0.02, 0.9), alpha=uniform(0.5, 3)),
    tends=(fields_near_zero, remaining_fields),
    examples=(example(base=".3", alpha="2", rhs=".3 0 0 0 1 1 0 .045"),),
    tolerance=1e-3,
    floor=1.0,
    ladder=(1e-4, 1e-6, 1e-8, 1e-10),
    note="So of alpha-divergences those with alpha < 1 lose their force, and those with alpha > 1 gain one"
    " without bound: for alpha = 2, A = .3 it is 4.5, 450 and 45,000 at V = .01, 1e-4 and 1e-6.",
    false=(
        neighbour(
            "the reverse KL too",
            rhs=lambda base, alpha: remaining_fields(base, alpha) + base[..., None] * np.eye(8)[1],
        ),
        neighbour("no alpha keeps any", rhs=without_last),
    ),
)


def exact_change(slopes: Values, logits: Values, step: Values, eps: float) -> Values:
    """d z of a held-out prompt by the forward KL of another, at a distance eps from the base, over eps."""
    away = policy(slopes, logits, eps * step)
    lacking = policy(slopes, logits, 0 * step)[..., 0, :] - away[..., 0, :]
    # The descent of KL(ref || pi): sum_y (ref - pi)(y) s(y).
    descent = (lacking[..., None] * slopes[..., 0, :, :]).sum(axis=-2)
    return (gradients(slopes, away)[..., 1, :] * descent).sum(axis=-1) / eps


def change_by_verdicts(slopes: Values, logits: Values, step: Values, eps: float) -> Values:
    """K_ji (A - V), as if nothing had moved among the incorrect answers."""
    away = policy(slopes, logits, eps * step)
    g = gradients(slopes, away)
    drive = policy(slopes, logits, 0 * step)[..., 0, 0] - away[..., 0, 0]
    return (g[..., 0, :] * g[..., 1, :]).sum(axis=-1) * drive / eps


INSIDE = refuted(
    "N3.inside",
    "Near the base a forward KL reaches other prompts by K (A - V) alone: refuted",
    statement=r"\theta \to 0:\quad \dot z_j = K_{ji}\,(A_i - V_i) + o(\theta)",
    source=SOURCE,
    on=chart(slopes=uniform(-1, 1, 2, 3, 3), logits=uniform(-2, 2, 2, 3), step=uniform(-1, 1, 3)),
    tends=(exact_change, change_by_verdicts),
    examples=(
        example(
            slopes=[["1 0 0", "0 1 0", "0 0 1"], ["1 0 0", "0 1 0", "0 0 1"]],
            logits=["0 0 0", "0 0 0"],
            step="0 1 -1",
        ),
    ),
    tolerance=1e-3,
    ladder=(1e-1, 1e-2, 1e-3),
    note="What the forward KL mends among the incorrect answers of one prompt moves another one as well, to"
    " the same order. For -log u on stored correct answers it is exact where one answer is correct, as here:"
    " that gradient has no part among the incorrect. With two correct answers an error of first order is"
    " left.",
    false=(neighbour("by half of it", rhs=scaled(change_by_verdicts, 0.5)),),
)


def rehearsed_prompts(
    couplings: Values, free_directions: Values, wrong: Values, odds: Values
) -> dict[str, Values]:
    """Prompts T, S and j of a correct answer and two equally likely incorrect ones, at these log odds.

    The gradient of j's is the first direction: K_jT = -couplings[0], K_jS = couplings[1].
    """
    signed = couplings * np.array([-1.0, 1.0])
    moving = np.concatenate([signed[..., None], free_directions], axis=-1)
    first = np.broadcast_to(np.eye(FEATURES)[0], moving[..., :1, :].shape)
    gradient = np.concatenate([moving, first], axis=-2)[..., None, :]
    slopes = np.concatenate([gradient + wrong.mean(axis=-2, keepdims=True), wrong], axis=-2)
    return {"slopes": slopes, "logits": np.stack([odds + np.log(2), 0 * odds, 0 * odds], axis=-1)}


def strength(couplings: Values, odds: Values) -> Values:
    """eta = -K_jT f_T/(K_jS (1 - V_S)), f_T = V_T (1 - V_T)."""
    rate = expit(odds)
    drive = rate[..., 0] * (1 - rate[..., 0])
    return couplings[..., 0] * drive / (couplings[..., 1] * (1 - rate[..., 1]))


def change_beside_rehearsal(
    slopes: Values, logits: Values, couplings: Values, odds: Values, part: Values, eps: float
) -> Values:
    """j's log odds after a step along grad V_T + part eta grad log pi_S(correct), less before, over eps."""
    p = policy(slopes, logits, 0 * slopes[..., 0, 0, :])
    stored, trained = scores(slopes, p)[..., 1, 0, :], np.outer(np.eye(3)[0], np.eye(3)[0])
    step = score_sum(slopes, p, trained) + (part * strength(couplings, odds))[..., None] * stored
    change = log_odds(policy(slopes, logits, eps * step)) - log_odds(p)
    return change[..., 2] / eps


def change_by_part(couplings: Values, odds: Values, part: Values) -> Values:
    """(part - 1) |K_jT| f_T: nothing at the whole strength, a loss below it and a gain above."""
    rate = expit(odds[..., 0])
    return (part - 1) * couplings[..., 0] * rate * (1 - rate)


def change_whatever_rate(couplings: Values, odds: Values, part: Values) -> Values:
    """As if the strength of an unsolved S, without 1/(1 - V_S), were enough."""
    rate = expit(odds)
    return (part / (1 - rate[..., 1]) - 1) * couplings[..., 0] * rate[..., 0] * (1 - rate[..., 0])


PRICE = theorem(
    "N5.price",
    "Where T's training harms j and S helps it, -log u on S holds j at the start iff eta is at least eta_*",
    statement=r"K_{jT} f_T < 0 < K_{jS}:\quad \dot z_j = \bigl(1 - \tfrac{\eta}{\eta_*}\bigr) K_{jT} f_T,"
    r"\quad \eta_* = -\frac{K_{jT} f_T}{K_{jS}\,(1 - V_S)},\; f_T = V_T (1 - V_T)",
    source=SOURCE,
    on=chart(
        couplings=uniform(0.05, 1, 2),
        free_directions=uniform(-1, 1, 2, FEATURES - 1),
        wrong=uniform(-1, 1, 3, 2, FEATURES),
        odds=uniform(-4, 4, 3),
        part=uniform(0, 2),
    ).deriving(rehearsed_prompts),
    tends=(change_beside_rehearsal, change_by_part),
    examples=(
        example(
            couplings=".4 .6",
            free_directions=["1 0 .5", "0 .5 -.5"],
            wrong=[[".3 .1 0 0", "-.2 .4 0 .1"], ["0 .5 .2 0", ".1 0 0 -.3"], [".2 0 .6 0", "0 -.4 0 .1"]],
            odds="-.4 3.5 -2",
            part="1.5",
            rhs=".04805217",
        ),
    ),
    tolerance=1e-3,
    floor=0.1,
    ladder=(1e-5, 1e-7),
    note="Dear where S is solved: at V = (.4, .97) and couplings -.4, .6 the strength eta_* is 5.3, since"
    " little of the rehearsal's force is left there. Where K_jS < 0 the rehearsal harms j itself.",
    false=(neighbour("whatever V_S", rhs=change_whatever_rate),),
)

STEPS_OF_FLOW, NEWTON_STEPS = 10, 6


def pinned_odds(level: Values, force: Values, base_odds: Values) -> Values:
    """The y with y - level = force (expit(base_odds) - expit(y)), by Newton's method from base_odds."""
    odds, rate = base_odds, expit(base_odds)
    for _ in range(NEWTON_STEPS):
        moved = expit(odds)
        odds = odds - (odds - level - force * (rate - moved)) / (1 + force * moved * (1 - moved))
    return odds


def gain_of_flow(trained: Values, pinned: Values, other: Values, odds: Values, eps: float) -> Values:
    """What j's log odds gained over the drive of T's, along T's training with (A_S - V_S)/eps on S.

    The weights of two answers' linear logits, in implicit steps of the force on S to time one.
    """
    weights, total, time = 0 * trained, 0 * odds[..., 0], 1 / STEPS_OF_FLOW
    length = (pinned * pinned).sum(axis=-1)
    for _ in range(STEPS_OF_FLOW):
        rate = expit(odds[..., 0] + (trained * weights).sum(axis=-1))
        drive = time * rate * (1 - rate)
        weights, total = weights + drive[..., None] * trained, total + drive
        level = odds[..., 1] + (pinned * weights).sum(axis=-1)
        moved = pinned_odds(level, time / eps * length, odds[..., 1])
        weights = weights + ((moved - level) / length)[..., None] * pinned
    return (other * weights).sum(axis=-1) / total


def pinned_coupling(
    trained: Values, pinned: Values, other: Values, *, of_unit_length: bool = False
) -> Values:
    """K_jT - K_jS K_SS^-1 K_ST."""
    kernel = gram(np.stack([trained, pinned, other], axis=-2))
    length = 1.0 if of_unit_length else kernel[..., 1, 1]
    return kernel[..., 2, 0] - kernel[..., 2, 1] * kernel[..., 1, 0] / length


PINNED = theorem(
    "N5.pinned",
    "K constant: as a forward KL on S grows, T moves j by what their gradients share outside of S's",
    statement=r"\dot\theta = f_T g_T + \tfrac1\epsilon (A_S - V_S)\, g_S:\quad \lim_{\epsilon \to 0}"
    r" \frac{z_j - z_j(0)}{\int f_T} = K_{jT} - K_{jS} K_{SS}^{-1} K_{ST}",
    source=SOURCE,
    on=chart(
        trained=uniform(-1, 1, FEATURES),
        pinned=uniform(0.5, 1, FEATURES),
        other=uniform(-1, 1, FEATURES),
        odds=uniform(-3, 3, 2),
    ),
    tends=(gain_of_flow, pinned_coupling),
    examples=(example(trained="1 .5 0 0", pinned="0 2 0 0", other="-.4 .8 .1 0", odds="-.4 3.5", rhs="-.4"),),
    floor=0.1,
    tolerance=1e-3,
    ladder=(1e-2, 1e-4, 1e-6),
    share=0.2,
    note="It harms j where T helps S and S helps j: of a gradient of T that helps j by what it shares with S,"
    " the pin takes that share away.",
    false=(
        neighbour("without S's own length", rhs=partial(pinned_coupling, of_unit_length=True)),
        neighbour("as if nothing held S", rhs=lambda trained, other: (trained * other).sum(axis=-1)),
    ),
)
