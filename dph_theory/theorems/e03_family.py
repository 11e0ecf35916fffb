"""E3, third claim: token penalties filter locally where failures die faster than beta; forward KL fails."""

from ..divergences import FORWARD_KL, alpha_divergence
from ..laws import locally_filtered, token_law
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import TREES, TWO_TOKENS, answers_of, tables, verifier


def law(first: Values, second: Values, valid: Values, eps: float) -> Values:
    return answers_of(token_law(tables(first, second), verifier(first, valid), eps, alpha_divergence(0.5)))


def local(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(locally_filtered(tables(first, second), verifier(first, valid)))


def at_one(first: Values, second: Values, valid: Values, eps: float) -> Values:
    return answers_of(token_law(tables(first, second), verifier(first, valid), eps, FORWARD_KL))


def beyond_one(first: Values, second: Values, valid: Values, eps: float) -> Values:
    return answers_of(token_law(tables(first, second), verifier(first, valid), eps, alpha_divergence(1.5)))


THEOREM = Theorem(
    name="E3.family",
    title="Token penalties filter locally where failures die faster than beta: alpha = 1/2, not forward KL",
    source=Source("ours", "laws of training"),
    statement=r"1 - Q_\beta = o(\beta) \;\Rightarrow\; \pi_\beta \to \text{the locally filtered model};"
    r"\quad \alpha < 1:\; 1 - Q_\beta = O(\beta^{1/\alpha})",
    relation=Relation.TENDS,
    lhs=law,
    rhs=local,
    instances=TREES,
    expected=Verdict.HOLDS,
    examples=(TWO_TOKENS,),
    certified=False,
    tolerance=1e-3,
    ladder=(1e-6, 1e-8, 1e-10),
    false_neighbours=(
        neighbour("alpha = 1, forward KL", lhs=at_one),
        neighbour("alpha = 1.5", lhs=beyond_one),
        masses_clamped("first", 0.01),
    ),
)
