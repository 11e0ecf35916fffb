"""B5: for product measures the sequence divergence is at most the token sum, Jensen-Shannon and alpha."""

from ..divergences import alpha_divergence
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from . import b05_deficit
from .b05_deficit import BOTH, EXAMPLE, INDEPENDENT, of_sequences, of_tokens

SQUARED = (alpha_divergence(-1),)
"""Half of chi-squared: alpha(1-alpha) is negative, so its deficit is a surplus."""


def derivation():
    # The deficits of B5.deficit are non-negative: a KL, and alpha(1-alpha) D_1 D_2 for alpha in (0, 1).
    yield from b05_deficit.derivation()


THEOREM = Theorem(
    name="B5.product",
    title="Independent tokens: sequence divergence at most the token sum, for JS and alpha in (0, 1)",
    source=Source("ours", "product measures"),
    statement=r"D_f(\pi_1\otimes\pi_2\|\pi_{ref,1}\otimes\pi_{ref,2}) \le D_f(\pi_1\|\pi_{ref,1})"
    r" + D_f(\pi_2\|\pi_{ref,2}),\quad f = f_{JS},\; f_\alpha,\; \alpha \in (0,1)",
    relation=Relation.AT_MOST,
    lhs=of_sequences(BOTH),
    rhs=of_tokens(BOTH),
    instances=INDEPENDENT,
    expected=Verdict.PROVED,
    examples=(EXAMPLE,),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("a token sum cut by 2%", rhs=of_tokens(BOTH, factor=0.98)),
        neighbour("alpha = -1, outside of (0, 1)", lhs=of_sequences(SQUARED), rhs=of_tokens(SQUARED)),
    ),
)
