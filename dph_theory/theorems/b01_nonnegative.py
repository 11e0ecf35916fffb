"""B1: an f-divergence is non-negative, and zero only where the policy is the reference."""

from ..divergences import TOTAL_VARIATION, each
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import EVERY, convexity


def at_the_reference(ref: Values) -> Values:
    one = 0 * ref + 1
    return each(lambda divergence: (ref * divergence.generator(one)).sum(axis=-1), EVERY)


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
    title="Every f-divergence is at least its value at pi = ref, which is 0",
    source=Source("li2025choice", "generators"),
    statement=r"D_f(\pi\|\pi_{ref}) = E_{ref}[f(u)] \ge 0 = D_f(\pi_{ref}\|\pi_{ref}),"
    r"\quad D_f = 0 \iff \pi = \pi_{ref}",
    relation=Relation.AT_MOST,
    lhs=at_the_reference,
    rhs=mean_generator,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.PROVED,
    given=("L1.tangent",),
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"), example(pi=".21 .2 .59", ref=".2 .201 .599")),
    symbolic=derivation,
    false_neighbours=(neighbour("summed over all outcomes but the last", rhs=last_outcome_left_out),),
)
