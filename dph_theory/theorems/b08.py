"""B8. Generator form against definition form.

A divergence can be estimated on stored reference samples (generator form, f(u)) or on fresh policy samples
with the reference online (definition form, f(u)/u). Both are unbiased; neither always varies less.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..divergences import COMPARED, FORWARD_KL, JENSEN_SHANNON, each
from ..fdivergence import FDivergence
from ..numeric.elementary import Values, only, trailing
from ..references import Source
from ..statement.charts import chart, example, integers, log_uniform, simplex
from ..statement.theorem import neighbour, refuted, theorem
from ._estimators import definition_form, generator_form
from ._laws import PI_REF


def generator_variance(pi: Values, ref: Values, divergences: Sequence[FDivergence] = COMPARED) -> Values:
    """Of one stored reference sample, f(u)."""
    return each(lambda f: generator_form(f, pi, ref).variance, divergences)


def definition_variance(pi: Values, ref: Values, divergences: Sequence[FDivergence] = COMPARED) -> Values:
    """Of one fresh policy sample, f(u)/u."""
    return each(lambda f: definition_form(f, pi, ref).variance, divergences)


def both_means(pi: Values, ref: Values) -> Values:
    stored = each(lambda d: generator_form(d, pi, ref).mean, COMPARED)
    fresh = each(lambda d: definition_form(d, pi, ref).mean, COMPARED)
    return np.stack([stored, fresh], axis=-1)


def both_divergences(pi: Values, ref: Values) -> Values:
    return trailing(each(lambda d: d(pi, ref), COMPARED), 1)


def definition_on_stored_samples(pi: Values, ref: Values) -> Values:
    return each(lambda d: (ref * d.generator(pi / ref) * ref / pi).sum(axis=-1), COMPARED)[..., None]


def generator_on_fresh_samples(pi: Values, ref: Values) -> Values:
    return each(lambda d: (pi * d.generator(pi / ref)).sum(axis=-1), COMPARED)[..., None]


MEAN = theorem(
    "B8.mean",
    "Generator form and definition form are both unbiased for D_f",
    statement=r"E_{y\sim\pi_{ref}}[f(u)] = E_{y\sim\pi}[f(u)/u] = D_f(\pi\|\pi_{ref})",
    source=Source("li2025choice", "generator and definition form"),
    on=chart(pi=simplex(3), ref=simplex(3)),
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
    " form needs only stored reference samples with their log-probabilities. B8.gap compares the variances.",
    coq="both_unbiased",
    false=(
        neighbour("the definition form on stored reference samples", lhs=definition_on_stored_samples),
        neighbour("the generator form on fresh policy samples", lhs=generator_on_fresh_samples),
    ),
)


def generator_side(pi: Values, ref: Values) -> Values:
    # The negative part of the gap is moved over to this side, so that no two large terms cancel.
    return each(lambda d: generator_form(d, pi, ref).variance + squares(d, pi, ref, ref / pi), COMPARED)


def definition_side(pi: Values, ref: Values) -> Values:
    return each(lambda d: definition_form(d, pi, ref).variance + squares(d, pi, ref, 0 * pi + 1), COMPARED)


def squares(divergence: FDivergence, pi: Values, ref: Values, weight: Values) -> Values:
    """E_ref[weight f(u)^2] in the gauge f'(1) = 0."""
    u = pi / ref
    normalised = divergence.generator(u) - divergence.generator_derivative(0 * u + 1) * (u - 1)
    return (ref * weight * np.square(normalised)).sum(axis=-1)


KEPT = example(pi=".5 .3 .2", ref=".2 .2 .6", updates=8, drawing="20")

GAP = theorem(
    "B8.gap",
    "Outcomes that gained mass give the generator form more variance, those that lost mass less",
    statement=r"\mathrm{Var}_{\pi_{ref}}[f(u)] - \mathrm{Var}_\pi[f(u)/u] = E_{ref}[(1 - 1/u) f(u)^2],"
    r"\quad f'(1) = 0",
    source=Source("ours"),
    on=chart(pi=simplex(3), ref=simplex(3)),
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
    happens = np.asarray(np.arange(MOST_UPDATES) < trailing(updates, 1), dtype=bool)
    return only(trailing(passes, 1), happens[:, None]).sum(axis=-1)


def generator_cost(pi: Values, ref: Values, updates: Values, drawing: Values) -> Values:
    """Var/error^2 answers, drawn and scored by the reference once, and by the policy at every update."""
    answers = generator_variance(pi, ref)
    once = answers * trailing(drawing, 1) + answers
    return (once + over_updates(answers, updates)) * definition_variance(pi, ref)


def definition_cost(pi: Values, ref: Values, updates: Values, factor: Values) -> Values:
    """Var/error^2 answers of the rollouts, scored by the policy and by the reference at every update."""
    answers = definition_variance(pi, ref)
    return (over_updates(answers, updates) + over_updates(answers, updates)) * factor


def relative_cost(pi: Values, ref: Values, updates: Values, drawing: Values) -> Values:
    once = trailing((1 + drawing) / updates, 1)
    return definition_cost(pi, ref, updates, generator_variance(pi, ref) * (1 + once) / 2)


def at_equal_samples(pi: Values, ref: Values, updates: Values, drawing: Values) -> Values:
    once = trailing((1 + drawing) / updates, 1)
    return definition_cost(pi, ref, updates, definition_variance(pi, ref) * (1 + once) / 2)


def in_the_long_run(pi: Values, ref: Values, updates: Values) -> Values:
    return definition_cost(pi, ref, updates, generator_variance(pi, ref) / 2)


COST = theorem(
    "B8.cost",
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
    " is less than twice the other's: B8.gap says which outcomes decide that, B8.variance that neither form"
    " always wins.",
    coq="relative_cost",
    false=(
        neighbour("as at equal numbers of answers", rhs=at_equal_samples),
        neighbour("half the ratio of the variances, as in the long run", rhs=in_the_long_run),
    ),
)


COMPARED_HERE = (FORWARD_KL, JENSEN_SHANNON)


stored_variance = partial(generator_variance, divergences=COMPARED_HERE)


fresh_variance = partial(definition_variance, divergences=COMPARED_HERE)


VARIANCE = refuted(
    "B8.variance",
    "'The generator form never has the larger variance': refuted, forward KL and JS alike",
    statement=r"\mathrm{Var}_{\pi_{ref}}[f(u)] \le \mathrm{Var}_\pi[f(u)/u],\quad f \text{ with } f'(1) = 0",
    source=Source("ours"),
    on=chart(pi=simplex(3), ref=simplex(3)),
    at_most=(stored_variance, fresh_variance),
    examples=(
        example(
            pi=".5 .5", ref=".1 .9", lhs=".4544997418013 .1741719466479", rhs=".0121106086001 .0076745862434"
        ),
    ),
    note="Neither form dominates: outcomes that gained mass (u > 1) favour the definition form, outcomes that"
    " lost mass (u < 1) the generator form (B8.gap). Under collapse, where modes are lost, it is the latter.",
    false=(
        neighbour(
            "the definition form never has the larger variance",
            lhs=fresh_variance,
            rhs=stored_variance,
            examples=(example(pi=".1 .9", ref=".5 .5"),),
        ),
    ),
)


def _by_autograd(pi: Values, ref: Values, law: Values) -> Values:
    # PyTorch is loaded only when the entry is checked.
    from ..audit.exact import expected_gradients

    def form(divergence: FDivergence) -> Callable[..., Any]:
        return lambda log_pi, log_ref: divergence.on_log_ratio(log_pi - log_ref).value.sum()

    return expected_gradients({f.name: form(f) for f in COMPARED}, pi, ref, law)


def gradients(pi: Values, ref: Values) -> Values:
    return np.stack([f.gradient(pi, ref) for f in COMPARED], axis=1)


AUTOGRAD = theorem(
    "B8.autograd",
    "Autograd of f(u) on stored reference samples is the exact gradient of D_f(pi||ref)",
    statement=r"\mathbb{E}_{y\sim\pi_{ref}}[\nabla_\theta f(u(y))] = \nabla_\theta D_f(\pi\|\pi_{ref})",
    source=Source("ours", "exact enumeration"),
    on=chart(pi=simplex(3, spread=4), ref=simplex(3, spread=4)),
    equal=(lambda pi, ref: _by_autograd(pi, ref, law=ref), gradients),
    needs="torch",
    examples=(KEPT,),
    false=(neighbour("on policy samples too", lhs=lambda pi, ref: _by_autograd(pi, ref, law=pi)),),
)
