"""B1: an f-divergence is at least each outcome's own term: non-negative, zero only for equal laws."""

from ..divergences import TOTAL_VARIATION, each
from ..fdivergence import FDivergence
from ..numeric.balls import Values, highest
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import EVERY, convexity


def largest_term(pi: Values, ref: Values) -> Values:
    """The largest of the terms ref g(u) by size, g = f - f'(1)(u-1): zero only where all ratios are one."""
    return each(lambda divergence: highest(abs(ref * normalised_generator(divergence, pi / ref))), EVERY)


def normalised_generator(divergence: FDivergence, ratio: Values) -> Values:
    return divergence.generator(ratio) - divergence.gauge * (ratio - 1)


def largest_plain_term(pi: Values, ref: Values) -> Values:
    return each(lambda divergence: highest(abs(ref * divergence.generator(pi / ref))), EVERY)


def mean_generator(pi: Values, ref: Values) -> Values:
    # The declared generator itself, term by term of either sign.
    return each(lambda divergence: (ref * divergence.generator(pi / ref)).sum(axis=-1), EVERY)


def last_outcome_left_out(pi: Values, ref: Values) -> Values:
    return mean_generator(pi[..., :-1], ref[..., :-1])


def derivation() -> Claims:
    # Convexity puts f above its tangent at 1, f(u) >= f(1) + f'(1)(u-1) = f'(1)(u-1), strictly for u != 1
    # as f'' > 0; and E_ref[u-1] = sum (pi - ref) = 0.
    yield from convexity()
    yield Claim("total variation is an absolute value", TOTAL_VARIATION.expression, ">=0")


THEOREM = Theorem(
    name="B1.nonnegative",
    title="Every f-divergence is at least each outcome's term: non-negative, and 0 only at pi = ref",
    source=Source("li2025choice", "generators"),
    statement=r"D_f(\pi\|\pi_{ref}) = E_{ref}[f(u)] \ge \max_y |\pi_{ref}(y)\, g(u_y)| \ge 0,\quad"
    r" g(u) = f(u) - f'(1)(u-1),\quad D_f = 0 \iff \pi = \pi_{ref}",
    relation=Relation.AT_MOST,
    lhs=largest_term,
    rhs=mean_generator,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.PROVED,
    given=("L1.tangent",),
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"), example(pi=".21 .2 .59", ref=".2 .201 .599")),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("the terms as printed, not normalised", lhs=largest_plain_term),
        neighbour("summed over all outcomes but the last", rhs=last_outcome_left_out),
        masses_clamped("pi", 2e-6, "lhs"),
    ),
)
