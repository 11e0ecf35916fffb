"""B8: what the two forms cost at equal error, in passes of a model over sampled answers."""

import numpy as np
import sympy

from ..numeric.balls import Values, only, trailing
from ..references import Source
from ..statement.charts import chart, example, integers, log_uniform, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import definition_variance, generator_variance

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


def derivation() -> Claims:
    g, d, T, draw = sympy.symbols("g d T draw", positive=True)
    generator, definition = g * (draw + 1) + T * g, 2 * T * d
    ratio = g / (2 * d) * (1 + (1 + draw) / T)
    yield Claim("the ratio of the passes", generator, equals=definition * ratio)


THEOREM = Theorem(
    name="B8.cost",
    title="At equal error over T updates the generator form costs Var_g/(2 Var_d) (1 + (1+c)/T) as much",
    source=Source("ours", "passes counted at N = Var/error^2 answers"),
    statement=r"\frac{C_g}{C_d} = \frac{N_g (c + 1) + T N_g}{2 T N_d} ="
    r" \frac{\mathrm{Var}_{\pi_{ref}}[f(u)]}{2\,\mathrm{Var}_\pi[f(u)/u]}\Big(1 + \frac{1 + c}{T}\Big),"
    r"\quad c = \text{cost of drawing an answer, in passes}",
    relation=Relation.EQUAL,
    lhs=generator_cost,
    rhs=relative_cost,
    instances=chart(
        pi=simplex(3), ref=simplex(3), updates=integers(1, MOST_UPDATES), drawing=log_uniform(1, 1e3)
    ),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6", updates=8, drawing="20"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("as at equal numbers of answers", rhs=at_equal_samples),
        neighbour("half the ratio of the variances, as in the long run", rhs=in_the_long_run),
        masses_clamped("pi", 2e-11),
    ),
    note="Both costs are multiplied by error^2 and by the other form's variance: no quotient of zeros."
    " The definition form's answers are the rollouts that training draws anyway; if they have to be drawn for"
    " it, its cost is (2 + c)/2 times as much. In the long run the generator form is cheaper iff its variance"
    " is less than twice the other's: B8.gap says which outcomes decide that, B8.variance that neither form"
    " always wins.",
)
