"""Comparing divergences: two forms of estimating one, and coefficients of equal curvature.

Generator form against definition form.

A divergence can be estimated on stored reference samples (generator form, f(u)) or on fresh policy samples
with the reference online (definition form, f(u)/u). Both are unbiased; neither always varies less.

Fair comparison: equal curvature.

Near pi = ref every f-divergence is f''(1)/2 times chi-squared: coefficients are to be compared at equal eta
f''(1). Then the direction of the divergence matters under a weak penalty and hardly under a strong one.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ...binary_reward import mu_by_forward_kl, mu_from_beta
from ...divergences import (
    CHI_SQUARED,
    COMPARED,
    FORWARD_KL,
    JENSEN_SHANNON,
    REVERSE_KL,
    alpha_divergence,
    stacked,
)
from ...fdivergence import FDivergence
from ...numeric.elementary import Values, add_axes, masked
from ...references import Source
from ...verification.charts import chart, example, integers, log_uniform, rates, simplex, uniform
from ...verification.statement import neighbour, refuted, theorem
from .._estimators import definition_form, generator_form, normalised_generator
from .._policies import FAR_PAIR, PI_REF

PAIRS = chart(pi=simplex(3), ref=simplex(3))
Divergence: TypeAlias = Callable[[Values, Values], Values]


def generator_variance(pi: Values, ref: Values, divergences: Sequence[FDivergence] = COMPARED) -> Values:
    """Of one stored reference sample, f(u)."""
    return stacked(lambda f: generator_form(f, pi, ref).variance, divergences)


def definition_variance(pi: Values, ref: Values, divergences: Sequence[FDivergence] = COMPARED) -> Values:
    """Of one fresh policy sample, f(u)/u."""
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
    """E_ref[weight f(u)^2] in the gauge f'(1) = 0."""
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


MOST_UPDATES = 32


def over_updates(passes: Values, updates: Values) -> Values:
    """So many passes at every update, added up."""
    happens = np.asarray(np.arange(MOST_UPDATES) < add_axes(updates, 1), dtype=bool)
    return masked(add_axes(passes, 1), happens[:, None]).sum(axis=-1)


def generator_cost(pi: Values, ref: Values, updates: Values, drawing: Values) -> Values:
    """Var/error^2 answers, drawn and scored by the reference once, and by the policy at every update."""
    answers = generator_variance(pi, ref)
    once = answers * add_axes(drawing, 1) + answers
    return (once + over_updates(answers, updates)) * definition_variance(pi, ref)


def definition_cost(pi: Values, ref: Values, updates: Values, factor: Values) -> Values:
    """Var/error^2 answers of the rollouts, scored by the policy and by the reference at every update."""
    answers = definition_variance(pi, ref)
    return (over_updates(answers, updates) + over_updates(answers, updates)) * factor


def relative_cost(pi: Values, ref: Values, updates: Values, drawing: Values) -> Values:
    once = add_axes((1 + drawing) / updates, 1)
    return definition_cost(pi, ref, updates, generator_variance(pi, ref) * (1 + once) / 2)


def at_equal_samples(pi: Values, ref: Values, updates: Values, drawing: Values) -> Values:
    once = add_axes((1 + drawing) / updates, 1)
    return definition_cost(pi, ref, updates, definition_variance(pi, ref) * (1 + once) / 2)


def in_the_long_run(pi: Values, ref: Values, updates: Values) -> Values:
    return definition_cost(pi, ref, updates, generator_variance(pi, ref) / 2)


COST = theorem(
    "At equal error over T updates the generator form costs Var_g/(2 Var_d) (1 + (1+c)/T) as much",
    statement=r"\frac{C_g}{C_d} = \frac{N_g (c + 1) + T N_g}{2 T N_d} ="
    r" \frac{\mathrm{Var}_{\pi_{ref}}[f(u)]}{2\,\mathrm{Var}_\pi[f(u)/u]}\Big(1 + \frac{1 + c}{T}\Big),"
    r"\quad c = \text{cost of drawing an answer, in passes}",
    source=Source("ours", "passes counted at N = Var/error^2 answers"),
    on=chart(pi=simplex(3), ref=simplex(3), updates=integers(1, MOST_UPDATES), drawing=log_uniform(1, 1e3)),
    equal=(generator_cost, relative_cost),
    examples=(
        PI_REF.but(updates="8", drawing="20").giving(
            value=".9366466899641 1.885278799917 .0617375539039 1.1264063981858"
        ),
    ),
    note="Both costs are multiplied by error^2 and by the other form's variance: no quotient of zeros."
    " The definition form's answers are the rollouts that training draws anyway; if they have to be drawn for"
    " it, its cost is (2 + c)/2 times as much. In the long run the generator form is cheaper iff its variance"
    " is less than twice the other's: forms_and_curvature.gap says which outcomes decide that,"
    " forms_and_curvature.variance that neither form"
    " always wins.",
    coq="relative_cost",
    false=(
        neighbour("as at equal numbers of answers", rhs=at_equal_samples),
        neighbour("half the ratio of the variances, as in the long run", rhs=in_the_long_run),
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


def _by_autograd(pi: Values, ref: Values, sampler: Values) -> Values:
    # PyTorch is loaded only when the entry is checked.
    from ...audit.called_loss import expected_gradients

    def form(divergence: FDivergence) -> Callable[..., Any]:
        return lambda log_pi, log_ref: divergence.on_log_ratio(log_pi - log_ref).value.sum()

    return expected_gradients({f.name: form(f) for f in COMPARED}, pi, ref, sampler)


def gradients(pi: Values, ref: Values) -> Values:
    return np.stack([f.gradient(pi, ref) for f in COMPARED], axis=1)


AUTOGRAD = theorem(
    "Autograd of f(u) on stored reference samples is the exact gradient of D_f(pi||ref)",
    statement=r"\mathbb{E}_{y\sim\pi_{ref}}[\nabla_\theta f(u(y))] = \nabla_\theta D_f(\pi\|\pi_{ref})",
    source=Source("ours", "exact enumeration"),
    on=chart(pi=simplex(3, spread=4), ref=simplex(3, spread=4)),
    equal=(lambda pi, ref: _by_autograd(pi, ref, sampler=ref), gradients),
    needs="torch",
    examples=(FAR_PAIR,),
    false=(neighbour("on policy samples too", lhs=lambda pi, ref: _by_autograd(pi, ref, sampler=pi)),),
)


STEPS = chart(ref=simplex(3, spread=3), q=simplex(3, spread=2.5), step=log_uniform(1e-4, 0.9))
STEP = example(ref=".2 .2 .6", q=".5 .3 .2", step=".01")
"""A step from the reference towards q."""


def differences(
    ref: Values, q: Values, step: Values, pairs: Iterable[tuple[Divergence, Divergence]]
) -> Values:
    """|D - D'| of each pair at the policy (1-e) ref + e q, over e^2, so that both sides stay visible."""
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


def twice_jensen_shannon(pi: Values, ref: Values) -> Values:
    """Jensen-Shannon over its curvature, which stands for one unit of the forward KL."""
    return 2 * JENSEN_SHANNON(pi, ref)


def difference_at_equal_curvature(ref: Values, q: Values, step: Values) -> Values:
    scaled_divergences = (REVERSE_KL, twice_jensen_shannon, alpha_divergence(0.5))
    return differences(ref, q, step, [(FORWARD_KL, d) for d in scaled_divergences])


def difference_at_equal_coefficient(ref: Values, q: Values, step: Values) -> Values:
    divergences = (REVERSE_KL, JENSEN_SHANNON, alpha_divergence(0.5))
    return differences(ref, q, step, [(FORWARD_KL, d) for d in divergences])


def coefficient_remainder(ref: Values, q: Values, step: Values) -> Values:
    # The second derivatives agree at u = 1, and the third ones differ by at most 1/min(1, xi)^4: for the
    # reverse KL by |2 - xi|/xi^3, for the other two by less.
    return add_axes(step / (1 - step) ** 4 * third_moment(ref, q) / 6, 1)


COEFFICIENTS = theorem(
    "Fair comparison: equal eta f''(1), so twice the eta for Jensen-Shannon, the same for alpha",
    statement=r"\Big|\mathrm{KL}(\pi_{ref}\|\pi) - \tfrac{1}{f''(1)} D_f(\pi\|\pi_{ref})\Big| \le"
    r" \tfrac16\,\tfrac{\epsilon^3}{(1-\epsilon)^4}\,E_{ref}\big|\tfrac{q}{\pi_{ref}} - 1\big|^3,"
    r"\quad \pi = (1-\epsilon)\pi_{ref} + \epsilon q",
    source=Source("ours"),
    on=STEPS,
    at_most=(difference_at_equal_curvature, coefficient_remainder),
    examples=(
        STEP.giving(lhs=".0008515255544 .0004234248196 .0004245937925", rhs=".0015229742241"),
        example(ref=".02 .58 .4", q=".4 .3 .3", step=".0001").giving(
            lhs=".0022808048999 .0011398609831 .0011401317165", rhs=".0022884403330"
        ),
    ),
    false=(
        neighbour(
            "the same eta for Jensen-Shannon, whatever the curvature", lhs=difference_at_equal_coefficient
        ),
    ),
)


def pass_rate_gap(base_rate: Values, eta: Values) -> Values:
    return mu_by_forward_kl(base_rate, eta) - mu_from_beta(base_rate, eta)


def scaled_gap(base_rate: Values, eta: Values) -> Values:
    return eta * (eta - 1) * abs(pass_rate_gap(base_rate, eta))


STRONG = theorem(
    "Large KL coefficient eta: forward and reverse KL of equal curvature agree to order 1/eta^2",
    statement=r"|\mu_{fwd}(\eta) - \mu_{rev}(\eta)| \le \frac{A_0 A_1}{\eta(\eta - 1)},\quad \eta > 1",
    source=Source("ours"),
    on=chart(base_rate=rates(low=1e-6, high=1e-2), eta=log_uniform(1.001, 1e3)),
    at_most=(scaled_gap, lambda base_rate: base_rate * (1 - base_rate)),
    examples=(example(base_rate=".25", eta="10", lhs=".0433491874576", rhs=".1875"),),
    note="eta is the coefficient at curvature f''(1) = 1; forms_and_curvature.weak has the other end.",
    false=(
        neighbour("agreement to third order", lhs=lambda base_rate, eta: eta * scaled_gap(base_rate, eta)),
    ),
)


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
