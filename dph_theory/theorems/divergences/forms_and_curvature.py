"""Comparing divergences: two forms of estimating one, and what curvature decides.

A divergence can be estimated on stored reference samples (generator form, f(u)) or on fresh policy samples
with the reference online (definition form, f(u)/u). Both are unbiased; neither always varies less. Near
pi = ref every f-divergence is f''(1)/2 times chi-squared, so coefficients are compared at equal eta f''(1).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from ...binary_reward import mu_from_beta
from ...divergences import CHI_SQUARED, COMPARED, FORWARD_KL, JENSEN_SHANNON, stacked
from ...fdivergence import FDivergence
from ...numeric.elementary import Values, add_axes
from ...references import Source
from ...stationary import pass_rate_at
from ...verification.charts import chart, example, log_uniform, simplex, uniform
from ...verification.statement import neighbour, refuted, theorem
from .._estimators import definition_form, generator_form, normalised_generator
from .._policies import PI_REF

PAIRS = chart(pi=simplex(3), ref=simplex(3))
Divergence: TypeAlias = Callable[[Values, Values], Values]


def generator_variance(pi: Values, ref: Values, divergences: Sequence[FDivergence] = COMPARED) -> Values:
    """Variance of f(u) - f'(1)(u-1) at one stored sample from ref, (..., divergences)."""
    return stacked(lambda f: generator_form(f, pi, ref).variance, divergences)


def definition_variance(pi: Values, ref: Values, divergences: Sequence[FDivergence] = COMPARED) -> Values:
    """Variance of (f(u) - f'(1)(u-1))/u at one fresh sample from the policy, (..., divergences)."""
    return stacked(lambda f: definition_form(f, pi, ref).variance, divergences)


def both_means(pi: Values, ref: Values) -> Values:
    stored = stacked(lambda d: generator_form(d, pi, ref).mean, COMPARED)
    fresh = stacked(lambda d: definition_form(d, pi, ref).mean, COMPARED)
    return np.stack([stored, fresh], axis=-1)


def both_divergences(pi: Values, ref: Values) -> Values:
    return add_axes(stacked(lambda d: d(pi, ref), COMPARED), 1)


def definition_on_stored_samples(pi: Values, ref: Values) -> Values:
    return stacked(lambda d: (ref * d.generator(pi / ref) * ref / pi).sum(axis=-1), COMPARED)[..., None]


def generator_on_fresh_samples(pi: Values, ref: Values) -> Values:
    return stacked(lambda d: (pi * d.generator(pi / ref)).sum(axis=-1), COMPARED)[..., None]


MEAN = theorem(
    "Generator form and definition form are both unbiased for D_f",
    statement=r"E_{y\sim\pi_{ref}}[f(u)] = E_{y\sim\pi}[f(u)/u] = D_f(\pi\|\pi_{ref}),\quad \pi > 0",
    source=Source("li2025choice", "generator and definition form"),
    on=PAIRS,
    equal=(both_means, both_divergences),
    examples=(
        PI_REF.giving(
            value=(
                ".3006928762565 .3006928762565 .3537826013701 .3537826013701 "
                ".1534056926223 .1534056926223 .316604346291 .316604346291"
            )
        ),
    ),
    note="Cost: the definition form needs the reference model online and fresh policy samples; the generator"
    " form needs only stored reference samples with their log-probabilities. forms_and_curvature.gap"
    " compares the variances.",
    coq="both_unbiased",
    false=(
        neighbour("the definition form on stored reference samples", lhs=definition_on_stored_samples),
        neighbour("the generator form on fresh policy samples", lhs=generator_on_fresh_samples),
    ),
)


def generator_side(pi: Values, ref: Values) -> Values:
    # The negative part of the gap is moved over to this side, so that no two large terms cancel.
    return stacked(lambda d: generator_form(d, pi, ref).variance + squares(d, pi, ref, ref / pi), COMPARED)


def definition_side(pi: Values, ref: Values) -> Values:
    return stacked(lambda d: definition_form(d, pi, ref).variance + squares(d, pi, ref, 0 * pi + 1), COMPARED)


def squares(divergence: FDivergence, pi: Values, ref: Values, weight: Values) -> Values:
    """E_ref[weight f(u)^2], (...), with f without its linear term and `weight` (..., outcomes)."""
    return (ref * weight * np.square(normalised_generator(divergence, pi / ref))).sum(axis=-1)


GAP = theorem(
    "Outcomes with u > 1 give the generator form more variance, those with u < 1 less",
    statement=r"\mathrm{Var}_{\pi_{ref}}[f(u)] - \mathrm{Var}_\pi[f(u)/u] = E_{ref}[(1 - 1/u) f(u)^2],"
    r"\quad \pi > 0",
    source=Source("ours"),
    on=PAIRS,
    equal=(generator_side, definition_side),
    examples=(PI_REF.giving(value=".4593799640583 .7932591396077 .1291599555457 .5532994828199"),),
    coq="variance_gap",
    false=(
        neighbour(
            "the variances are equal, as the means are", lhs=generator_variance, rhs=definition_variance
        ),
        neighbour("the weight 1/u forgotten", lhs=generator_variance, rhs=definition_side),
    ),
)


COVERING = (FORWARD_KL, JENSEN_SHANNON)
stored_variance = partial(generator_variance, divergences=COVERING)
fresh_variance = partial(definition_variance, divergences=COVERING)

VARIANCE = refuted(
    "'The generator form never has the larger variance': refuted, forward KL and JS alike",
    statement=r"\mathrm{Var}_{\pi_{ref}}[f(u)] \le \mathrm{Var}_\pi[f(u)/u],\quad f \text{ with } f'(1) = 0",
    source=Source("ours"),
    on=PAIRS,
    at_most=(stored_variance, fresh_variance),
    examples=(
        example(
            pi=".5 .5", ref=".1 .9", lhs=".4544997418013 .1741719466479", rhs=".0121106086001 .0076745862434"
        ),
    ),
    note="Neither form dominates: outcomes that gained mass (u > 1) favour the definition form, outcomes that"
    " lost mass (u < 1) the generator form (forms_and_curvature.gap). Under collapse, where modes are"
    " lost, it is the latter.",
    false=(
        neighbour(
            "the definition form never has the larger variance",
            lhs=fresh_variance,
            rhs=stored_variance,
            examples=(example(pi=".1 .9", ref=".5 .5"),),
        ),
    ),
)


def gradients(pi: Values, ref: Values) -> Values:
    return np.stack([f.gradient(pi, ref) for f in COMPARED], axis=1)


STEPS = chart(ref=simplex(3, spread=3), q=simplex(3, spread=2.5), step=log_uniform(1e-4, 0.9))
STEP = example(ref=".2 .2 .6", q=".5 .3 .2", step=".01")
"""A step from the reference towards q."""


def differences(
    ref: Values, q: Values, step: Values, pairs: Iterable[tuple[Divergence, Divergence]]
) -> Values:
    """|D - D'|/step^2 of each pair of divergences at the policy (1-step) ref + step q, (..., pairs)."""
    pi, scale = (1 - add_axes(step, 1)) * ref + add_axes(step, 1) * q, step**2
    return stacked(lambda pair: abs(pair[0](pi, ref) - pair[1](pi, ref)) / scale, pairs)


def times_chi_squared(factor: float) -> Divergence:
    return lambda pi, ref: factor * CHI_SQUARED(pi, ref)


def distance_to_chi_squared(ref: Values, q: Values, step: Values) -> Values:
    return differences(ref, q, step, [(d, times_chi_squared(d.curvature / 2)) for d in COMPARED])


def distance_at_same_coefficient(ref: Values, q: Values, step: Values) -> Values:
    return differences(ref, q, step, [(d, times_chi_squared(1 / 2)) for d in COMPARED])


def third_moment(ref: Values, q: Values) -> Values:
    return (ref * abs(q / ref - 1) ** 3).sum(axis=-1)


def third_order(ref: Values, q: Values, step: Values) -> Values:
    # Taylor to second order with Lagrange's remainder f'''(xi) (u-1)^3/6: for the whole family
    # |f'''(xi)| <= 2 f''(1)/min(1, xi)^3, and u - 1 = e (q/ref - 1) >= -e, so that xi >= 1 - e.
    remainder = step / (1 - step) ** 3 * third_moment(ref, q)
    return stacked(lambda d: d.curvature / 3 * remainder, COMPARED)


CURVATURE = theorem(
    "Near pi = ref every f-divergence is f''(1)/2 chi-squared",
    statement=r"\Big|D_f(\pi\|\pi_{ref}) - \tfrac{f''(1)}{2}\chi^2(\pi\|\pi_{ref})\Big| \le"
    r" \tfrac{f''(1)}{3}\,\tfrac{\epsilon^3}{(1-\epsilon)^3}\,E_{ref}\big|\tfrac{q}{\pi_{ref}} - 1\big|^3,"
    r"\quad \pi = (1-\epsilon)\pi_{ref} + \epsilon q",
    source=Source("ours"),
    on=STEPS,
    at_most=(distance_to_chi_squared, third_order),
    examples=(
        STEP.giving(
            lhs=".0017124381331 .0008609125788 .0006445066568 .0012878443406",
            rhs=".0030154889636 .0030154889636 .0015077444818 .0030154889636",
        ),
        example(ref=".5 .02 .48", q=".3 .3 .4", step=".0001").giving(
            lhs=".0018262739085 .000913456556 .000685012483 .0013699450991",
            rhs=".0018310233261 .0018310233261 .0009155116631 .0018310233261",
        ),
    ),
    false=(
        neighbour(
            "coefficient 1/2 for all, as if f''(1) = 1 for Jensen-Shannon", lhs=distance_at_same_coefficient
        ),
    ),
)


def pass_rate_gap(base_rate: Values, eta: Values) -> Values:
    return pass_rate_at(base_rate, eta, FORWARD_KL) - mu_from_beta(base_rate, eta)


def gap_and_reverse_bound(base_rate: Values, eta: Values) -> Values:
    return pass_rate_gap(base_rate, eta) + base_rate * np.exp(1 / eta)


WEAK = theorem(
    "Small KL coefficient eta: forward KL lifts a rare success to 1 - eta, reverse KL by e^{1/eta}",
    statement=r"1 - \eta \le \mu_{fwd}(\eta) - \mu_{rev}(\eta) + A_1 e^{1/\eta}",
    source=Source("ours"),
    on=chart(base_rate=log_uniform(1e-15, 0.5), eta=uniform(0.02, 1)),
    at_most=(lambda eta: 1 - eta, gap_and_reverse_bound),
    examples=(example(base_rate=".01", eta=".3", lhs=".7", rhs=".7639095340132"),),
    coq="weak_penalties",
    false=(
        neighbour("the reverse KL lifts it as far", rhs=lambda base_rate, eta: mu_from_beta(base_rate, eta)),
    ),
)
