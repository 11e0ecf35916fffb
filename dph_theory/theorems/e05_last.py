"""E5, first claim: where one token decides validity, the token law and the sequence law agree."""

from collections.abc import Callable

import numpy as np

from ..divergences import FORWARD_KL, REVERSE_KL, alpha_divergence, each
from ..laws import sequence_law, token_law
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import TREES, TWO_TOKENS, answers_of, tables, verifier

FORMS = (REVERSE_KL, FORWARD_KL, alpha_divergence(0.5))


def by_the_first(first: Values, valid: Values) -> Values:
    """The verdict of the first token with the first second token, whatever the second is."""
    answers = verifier(first, valid)
    return np.broadcast_to(answers[..., :1], answers.shape)


def token_laws(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(token_law, first, second, by_the_first(first, valid), beta)


def sequence_laws(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(sequence_law, first, second, by_the_first(first, valid), beta)


def token_laws_of_both(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(token_law, first, second, verifier(first, valid), beta)


def sequence_laws_of_both(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(sequence_law, first, second, verifier(first, valid), beta)


def _laws_of(
    law: Callable[..., list[np.ndarray]], first: Values, second: Values, verdicts: Values, beta: Values
) -> Values:
    return each(lambda f: answers_of(law(tables(first, second), verdicts, beta, f)), FORMS)


THEOREM = Theorem(
    name="E5.last",
    title="Where the first token decides validity, token and sequence penalties have one law, for every f",
    source=Source("ours", "laws of training"),
    statement=r"v(y) = v(y_1) \;\Rightarrow\; \text{the law of E2 is the law of E1}",
    relation=Relation.EQUAL,
    lhs=token_laws,
    rhs=sequence_laws,
    instances=TREES,
    expected=Verdict.HOLDS,
    examples=(TWO_TOKENS,),
    certified=False,
    false_neighbours=(
        neighbour("validity decided by both tokens", lhs=token_laws_of_both, rhs=sequence_laws_of_both),
        masses_clamped("first", 0.01),
    ),
)
