"""The forces of divergences and of rehearsal on prompts that share weights.

What each divergence adds to the drive of a prompt, in its log odds.

Where nothing moves among the correct answers, nor among the others, the policy of a prompt is its pass rate
V, and a divergence from the base's rate A has a gradient on its log odds z that is a function of V and A.
Only of the forward KL, and of -log u or k3 on correct answers, it stays at a prompt that is all but lost.

What a rehearsal, or a prompt that is pinned, does for others.

It acts on another prompt by the kernel alone: it helps where the two are coupled, does nothing where they
are not, and harms where what it does to the trained prompts outweighs that.
"""

from typing import Any

import numpy as np

from ...divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence, stacked
from ...numeric.elementary import expit, logit
from ...references import Source
from ...verification.charts import chart, example, rates, uniform
from ...verification.statement import neighbour, refuted, scaled, theorem
from .._linear_logits import Values, gradients, gram, policy, with_couplings

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


def fields(rate: Values, base: Values) -> Values:
    """In closed form: forward and reverse KL, alpha, the JS generator."""
    spread = rate * (1 - rate)
    alpha = ((1 - rate) / (1 - base)) ** -ALPHA - (rate / base) ** -ALPHA
    js = np.log(rate * (2 - rate - base) / ((rate + base) * (1 - rate)))
    return np.stack(
        [base - rate, -spread * (logit(rate) - logit(base)), -spread * alpha / ALPHA, -spread * js], axis=-1
    )


FIELDS = theorem(
    "N3.fields",
    "What a divergence to the base adds to the drive of a prompt's log odds",
    statement=r"-\partial_z D_f = A - V \text{ (forward KL)},\quad -V(1-V)(z - z_0) \text{ (reverse)},\quad"
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
    "What a divergence on stored correct answers alone adds: DPH's rehearsal",
    statement=r"-\partial_z f(V/A) = 1 - V \;(-\log u),\quad (1-V)(1 - \tfrac VA) \;(k3),\quad"
    r" -\tfrac{V(1-V)}{A} f'(\tfrac VA)",
    source=SOURCE,
    on=PASS_RATES,
    tends=(rehearsal_by_difference, rehearsal_fields),
    examples=(FALLEN.giving(rhs=".95 .791666667 .198280371"),),
    false=(
        neighbour("-log u and k3 alike", rhs=lambda rate, base: rehearsal_fields(rate, base)[..., [0, 0, 2]]),
    ),
    **STEPS,
)


def fields_near_zero(base: Values, eps: float) -> Values:
    rate = eps + 0 * base
    return np.concatenate([fields(rate, base), rehearsal_fields(rate, base)], axis=-1)


def remaining_fields(base: Values) -> Values:
    zero = 0 * base
    return np.stack([base, zero, zero, zero, 1 + zero, 1 + zero, zero], axis=-1)


LOST = theorem(
    "N3.lost",
    "At a lost prompt only the forward KL, -log u and k3 on correct answers keep a force",
    statement=r"V \to 0:\quad -\partial_z D_f \to A \text{ (forward KL)},\; 1 \;(-\log u,\, k3 \text{ on"
    r" correct answers}),\; 0 \text{ (reverse KL, alpha, JS)}",
    source=SOURCE,
    on=chart(base=uniform(0.02, 0.9)),
    tends=(fields_near_zero, remaining_fields),
    examples=(example(base=".3", rhs=".3 0 0 0 1 1 0"),),
    tolerance=1e-3,
    floor=1.0,
    ladder=(1e-4, 1e-6, 1e-8, 1e-10),
    false=(
        neighbour(
            "the reverse KL too", rhs=lambda base: remaining_fields(base) + base[..., None] * np.eye(7)[1]
        ),
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
    " the same order. For -log u on correct answers it is exact: that gradient has no part among the"
    " incorrect.",
    false=(neighbour("by half of it", rhs=scaled(change_by_verdicts, 0.5)),),
)


def strength(rates: Values, pairs: Values) -> Values:
    """eta = -K_jT f_T/(K_jS (1 - V_S)), of the couplings (T,S), (T,j), (S,j)."""
    return -pairs[..., 1] * rates[..., 0] * (1 - rates[..., 0]) / (pairs[..., 2] * (1 - rates[..., 1]))


def total_force(rates: Values, pairs: Values) -> Values:
    """What j gains at that strength from T's training and from the rehearsal, -log u, of S: nothing."""
    kernel = with_couplings(pairs)
    drive, force = rates[..., 0] * (1 - rates[..., 0]), 1 - rates[..., 1]
    return kernel[..., 2, 0] * drive + strength(rates, pairs) * kernel[..., 2, 1] * force


def total_force_whatever_rate(rates: Values, pairs: Values) -> Values:
    """At the strength that an unsolved S would need."""
    return pairs[..., 1] * rates[..., 0] * (1 - rates[..., 0]) * rates[..., 1]


PRICE = theorem(
    "N5.price",
    "A rehearsal of S holds j at the start from a strength on that is dear where S is solved",
    statement=r"\eta = -\frac{K_{jT} f_T}{K_{jS}\,(1 - V_S)} \;\Rightarrow\; \dot z_j = 0",
    source=SOURCE,
    on=chart(rates=rates(2, low=1e-2, high=1e-2), pairs=uniform(0.05, 1, 3)),
    equal=(total_force, lambda rates: 0 * rates[..., 0]),
    examples=(example(rates=".4 .97", pairs="-.5 -.4 .6"),),
    floor=1e-6,
    note="With V = (.4, .97) and couplings -.4, .6 the strength is 5.3: of a prompt that is solved the"
    " rehearsal has little force left to lend.",
    false=(neighbour("whatever V_S", lhs=total_force_whatever_rate),),
)


def gain_beside_pinned(features: Values) -> Values:
    """What j gains from T in the directions in which S does not move."""
    t, s, j = (features[..., i, :] for i in range(3))
    remaining = t - (t * s).sum(axis=-1, keepdims=True) / (s * s).sum(axis=-1, keepdims=True) * s
    return (j * remaining).sum(axis=-1)


def pinned_coupling(features: Values) -> Values:
    """K_jT - K_jS K_SS^-1 K_ST."""
    kernel = gram(features)
    return kernel[..., 2, 0] - kernel[..., 2, 1] * kernel[..., 1, 0] / kernel[..., 1, 1]


def pinned_coupling_at_unit_length(features: Values) -> Values:
    kernel = gram(features)
    return kernel[..., 2, 0] - kernel[..., 2, 1] * kernel[..., 1, 0]


PINNED = theorem(
    "N5.pinned",
    "Where a strong forward KL pins S, the others are coupled by what S does not share",
    statement=r"K_{jT} \;\to\; K_{jT} - K_{jS} K_{SS}^{-1} K_{ST}",
    source=SOURCE,
    on=chart(features=uniform(-1, 1, 3, 4)),
    equal=(gain_beside_pinned, pinned_coupling),
    examples=(example(features=["1 .5 0 0", "0 2 0 0", "-.4 .8 .1 0"], value="-.4"),),
    floor=1e-2,
    tolerance=1e-7,
    note="It harms j where T helps S and S helps j: of a gradient of T that helps j by what it shares with S,"
    " the pin takes that share away.",
    false=(neighbour("without S's own length", rhs=pinned_coupling_at_unit_length),),
)
