"""E3, first claim: as beta falls, the token reverse KL selects the locally filtered model."""

from ..laws import filtered_law, locally_filtered, token_forward_limit, token_law
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import STRING, STRINGS, answers_of


def law(base: list[Values], verdicts: Values, eps: float) -> Values:
    return answers_of(token_law(base, verdicts, eps))


def local(base: list[Values], verdicts: Values) -> Values:
    return answers_of(locally_filtered(base, verdicts))


def globally(base: list[Values], verdicts: Values) -> Values:
    return answers_of(filtered_law(base, verdicts))


def forward_limit(base: list[Values], verdicts: Values) -> Values:
    return answers_of(token_forward_limit(base, verdicts))


THEOREM = Theorem(
    name="E3.local",
    title="Token reverse KL (k2, or k3 with the importance ratio) selects the locally filtered model",
    source=Source("ours", "laws of training; local filtering: park2024grammar"),
    statement=r"\pi_\beta(t|s) \to \frac{a(t|s)\,1[Y_1 \text{ reachable after } s,t]}"
    r"{\sum_{t'} a(t'|s)\,1[Y_1 \text{ reachable after } s,t']} \text{ as } \beta \to 0",
    relation=Relation.TENDS,
    lhs=law,
    rhs=local,
    instances=STRINGS,
    expected=Verdict.HOLDS,
    examples=(STRING,),
    certified=False,
    ladder=(1e-1, 1e-2, 1e-3),
    false_neighbours=(
        neighbour("the filtered model p_*", rhs=globally),
        neighbour("the limit of the token forward KL", rhs=forward_limit),
        masses_clamped("first", 0.015),
    ),
)
