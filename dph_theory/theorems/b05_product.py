"""B5: for product measures the sequence divergence is at most the token sum, Jensen-Shannon and alpha."""

from functools import partial

import sympy

from ..divergences import alpha_divergence
from ..references import Source
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ..tokens import independent_divergences, summed_divergences
from ._tokens import INDEPENDENT, INDEPENDENT_PAIR, JS_AND_ALPHAS

SQUARED = (alpha_divergence(-1),)
"""Half of chi-squared: alpha(1-alpha) is negative, so its deficit is a surplus."""


def derivation() -> Claims:
    # The deficits of B5.deficit are not negative: twice a KL (L1.gibbs), and alpha(1-alpha) D_1 D_2 for
    # alpha in (0, 1), where neither divergence is negative (B1.nonnegative).
    kl, D1, D2, alpha = sympy.symbols("kl D_1 D_2 alpha", nonnegative=True)
    yield Claim("Jensen-Shannon", 2 * kl, ">=0")
    yield Claim("alpha", alpha * (1 - alpha) * D1 * D2, ">=0", where=(alpha < 1,))


THEOREM = Theorem(
    name="B5.product",
    title="Independent tokens: sequence divergence at most the token sum, for JS and alpha in (0, 1)",
    source=Source("ours", "product measures"),
    statement=r"D_f(\pi_1\otimes\pi_2\|\pi_{ref,1}\otimes\pi_{ref,2}) \le D_f(\pi_1\|\pi_{ref,1})"
    r" + D_f(\pi_2\|\pi_{ref,2}),\quad f = f_{JS},\; f_\alpha,\; \alpha \in (0,1)",
    relation=Relation.AT_MOST,
    lhs=partial(independent_divergences, JS_AND_ALPHAS),
    rhs=partial(summed_divergences, JS_AND_ALPHAS),
    instances=INDEPENDENT,
    expected=Verdict.PROVED,
    given=("B5.deficit", "L1.gibbs", "B1.nonnegative"),
    examples=(INDEPENDENT_PAIR,),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("a token sum cut by 2%", rhs=scaled(partial(summed_divergences, JS_AND_ALPHAS), 0.98)),
        neighbour(
            "alpha = -1, outside of (0, 1)",
            lhs=partial(independent_divergences, SQUARED),
            rhs=partial(summed_divergences, SQUARED),
        ),
        masses_clamped("ref_first", 1e-5, "lhs"),
    ),
)
