"""E3, second claim: as beta falls, the token forward KL selects a third law, linearly fast."""

from ..divergences import FORWARD_KL
from ..laws import filtered_law, locally_filtered, token_forward_limit, token_law
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import TREES, TWO_TOKENS, answers_of, tables, verifier


def law(first: Values, second: Values, valid: Values, eps: float) -> Values:
    return answers_of(token_law(tables(first, second), verifier(first, valid), eps, FORWARD_KL))


def limit(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(token_forward_limit(tables(first, second), verifier(first, valid)))


def local(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(locally_filtered(tables(first, second), verifier(first, valid)))


def globally(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(filtered_law(tables(first, second), verifier(first, valid)))


THEOREM = Theorem(
    name="E3.forward",
    title="Token forward KL (plain k3 in the loss) selects a law of its own",
    source=Source("ours", "laws of training"),
    statement=r"\pi_\beta(t|s) \to \frac{a(t|s)}{1 + w(s,t) - w(s)} \text{ where } Y_1 \text{ is reachable},"
    r"\; w = 0 \text{ at leaves},\; \sum_t \pi(t|s) = 1",
    relation=Relation.TENDS,
    lhs=law,
    rhs=limit,
    instances=TREES,
    expected=Verdict.HOLDS,
    examples=(TWO_TOKENS,),
    certified=False,
    tolerance=1e-5,
    ladder=(1e-4, 1e-6, 1e-8),
    false_neighbours=(
        neighbour("the locally filtered model", rhs=local),
        neighbour("the filtered model p_*", rhs=globally),
        near(1, beta=(1.7, 0.003)),
    ),
)
