"""E3, first claim: as beta falls, the token reverse KL selects the locally filtered model."""

from ..laws import filtered_law, locally_filtered, token_forward_limit, token_law
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import TREES, TWO_TOKENS, answers_of, tables, verifier


def law(first: Values, second: Values, valid: Values, eps: float) -> Values:
    return answers_of(token_law(tables(first, second), verifier(first, valid), eps))


def local(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(locally_filtered(tables(first, second), verifier(first, valid)))


def globally(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(filtered_law(tables(first, second), verifier(first, valid)))


def forward_limit(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(token_forward_limit(tables(first, second), verifier(first, valid)))


THEOREM = Theorem(
    name="E3.local",
    title="Token reverse KL (k2, or k3 with the importance ratio) selects the locally filtered model",
    source=Source("ours", "laws of training; local filtering: park2024grammar"),
    statement=r"\pi_\beta(t|s) \to \frac{a(t|s)\,1[Y_1 \text{ reachable after } s,t]}"
    r"{\sum_{t'} a(t'|s)\,1[Y_1 \text{ reachable after } s,t']} \text{ as } \beta \to 0",
    relation=Relation.TENDS,
    lhs=law,
    rhs=local,
    instances=TREES,
    expected=Verdict.HOLDS,
    examples=(TWO_TOKENS,),
    certified=False,
    ladder=(1e-1, 1e-2, 1e-3),
    false_neighbours=(
        neighbour("the filtered model p_*", rhs=globally),
        neighbour("the limit of the token forward KL", rhs=forward_limit),
        near(0.01, beta=(1.7, 0.001)),
    ),
)
