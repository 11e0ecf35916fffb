"""B8: the generator form on reference samples and the definition form on policy samples have one mean."""

import numpy as np
import sympy

from ..divergences import COMPARED, each
from ..estimators import definition_form, generator_form
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def both_means(pi: Values, ref: Values) -> Values:
    stored = each(lambda d: generator_form(d, pi, ref).mean, COMPARED)
    fresh = each(lambda d: definition_form(d, pi, ref).mean, COMPARED)
    return np.stack([stored, fresh], axis=-1)


def divergences(pi: Values, ref: Values) -> Values:
    return trailing(each(lambda d: d(pi, ref), COMPARED), 1)


def definition_on_stored_samples(pi: Values, ref: Values) -> Values:
    return each(lambda d: (ref * d.generator(pi / ref) * ref / pi).sum(axis=-1), COMPARED)[..., None]


def generator_on_fresh_samples(pi: Values, ref: Values) -> Values:
    return each(lambda d: (pi * d.generator(pi / ref)).sum(axis=-1), COMPARED)[..., None]


def derivation() -> Claims:
    # The first mean is D_f, whatever the gauge (B3.gauge); the second is the same sum, since pi = u ref.
    ref, u = sympy.symbols("ref u", positive=True)
    f = sympy.Symbol("f", real=True)
    yield Claim("one outcome's term", (u * ref) * (f / u), equals=ref * f)


THEOREM = Theorem(
    name="B8.mean",
    title="Generator form and definition form are both unbiased for D_f",
    source=Source("li2025choice", "generator and definition form"),
    statement=r"E_{y\sim\pi_{ref}}[f(u)] = E_{y\sim\pi}[f(u)/u] = D_f(\pi\|\pi_{ref})",
    relation=Relation.EQUAL,
    lhs=both_means,
    rhs=divergences,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.PROVED,
    given=("B3.gauge",),
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the definition form on stored reference samples", lhs=definition_on_stored_samples),
        neighbour("the generator form on fresh policy samples", lhs=generator_on_fresh_samples),
        masses_clamped("ref", 3.2e-11),
    ),
    note="Cost: the definition form needs the reference model online and fresh policy samples; the generator"
    " form needs only stored reference samples with their log-probabilities. B8.gap compares the variances.",
)
