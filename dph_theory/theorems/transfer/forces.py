"""The force that each divergence adds to the drive of a prompt's log odds.

Where nothing moves among the correct answers, nor among the others, the policy of a prompt is its pass rate
V, and a divergence from the base's rate A has a gradient on its log odds z that is a function of V and A.
As V falls to 0, those of the forward KL, of -log u and of k3 stay, those of the reverse KL, of JS and of
alpha below one vanish, and those of alpha above one grow.
"""

from typing import Any

import numpy as np

from ...divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence, stacked
from ...numeric.elementary import Values, expit, logit
from ...references import Source
from ...verification.charts import chart, example, rates, uniform
from ...verification.statement import neighbour, theorem

SOURCE = Source("ours", "transfer between prompts")
ALPHA = 0.5
DIVERGENCES = (FORWARD_KL, REVERSE_KL, alpha_divergence(ALPHA), JENSEN_SHANNON)
PASS_RATES = chart(base=rates(low=1e-2, high=1e-2), rate=rates(low=1e-2, high=1e-2))
FALLEN = example(base=".3", rate=".05")
STEPS: dict[str, Any] = {"tolerance": 1e-4, "ladder": (1e-2, 1e-3, 1e-4)}


def distances(rate: Values, base: Values, z: float) -> Values:
    """D_f of (success, failure) to the base after the log odds change by z, (..., divergences)."""
    moved = expit(logit(rate) + z)
    masses = np.stack([moved, 1 - moved], axis=-1), np.stack([base, 1 - base], axis=-1)
    return stacked(lambda divergence: divergence(*masses), DIVERGENCES)


def fields_by_difference(rate: Values, base: Values, eps: float) -> Values:
    """Minus the derivatives of the divergences in the log odds, by central differences; (..., 4)."""
    return (distances(rate, base, -eps) - distances(rate, base, eps)) / (2 * eps)


def alpha_field(rate: Values, base: Values, alpha: Values | float) -> Values:
    """Minus the derivative of D_alpha((V, 1-V) || base) in the log odds of V = `rate`; shapes broadcast."""
    gap = ((1 - rate) / (1 - base)) ** -alpha - (rate / base) ** -alpha
    return -rate * (1 - rate) * gap / alpha


def fields(rate: Values, base: Values) -> Values:
    """Minus the derivatives of forward KL, reverse KL, alpha and JS in the log odds of `rate`; (..., 4)."""
    spread = rate * (1 - rate)
    js = np.log(rate * (2 - rate - base) / ((rate + base) * (1 - rate)))
    reverse = -spread * (logit(rate) - logit(base))
    return np.stack([base - rate, reverse, alpha_field(rate, base, ALPHA), -spread * js], axis=-1)


FIELDS = theorem(
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


def rehearsal_fields(rate: Values, base: Values) -> Values:
    failed, ratio = 1 - rate, rate / base
    return np.stack(
        [failed, failed * (1 - ratio), -failed * ratio * np.log(2 * rate / (rate + base))], axis=-1
    )


def fields_near_zero(base: Values, alpha: Values, eps: float) -> Values:
    """Forces of penalties and rehearsal on the log odds at rate eps, last alpha's rescaled; (..., 8)."""
    rate = eps + 0 * base
    scaled_alpha = eps ** (alpha - 1) * alpha_field(rate, base, alpha)
    return np.concatenate(
        [fields(rate, base), rehearsal_fields(rate, base), scaled_alpha[..., None]], axis=-1
    )


def remaining_fields(base: Values, alpha: Values) -> Values:
    zero = 0 * base
    return np.stack([base, zero, zero, zero, 1 + zero, 1 + zero, zero, base**alpha / alpha], axis=-1)


def without_last(base: Values, alpha: Values) -> Values:
    """False variant of `remaining_fields`, (..., 8): alpha's force vanishes at pass rate 0."""
    return remaining_fields(base, alpha) * (np.arange(8) < 7)


LOST = theorem(
    "As V -> 0 forward KL, -log u and k3 keep a force, reverse KL and JS none; alpha's goes as V^(1-alpha)",
    statement=r"A = a(Y_1),\; V \to 0:\quad -\partial_z D_f \to A \text{ (forward KL)},\; 1 \;(-\log u,\, k3"
    r" \text{ on correct answers}),\; 0 \text{ (reverse KL, JS, alpha} = \tfrac12),\quad"
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
