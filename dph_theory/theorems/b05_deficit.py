"""B5: for product measures, by how much the sequence divergence falls short of the token sum."""

from functools import partial

import numpy as np

from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ..tokens import independent, independent_divergences, summed_divergences
from ._tokens import INDEPENDENT, INDEPENDENT_PAIR, JS_AND_ALPHAS, TWO_ALPHAS, token_deficits


def deficits(pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values) -> Values:
    """2 KL of the sequences' mixture from the product of the tokens' mixtures; alpha(1-alpha) D_1 D_2."""
    mixture = (independent(pi_first, pi_second) + independent(ref_first, ref_second)) / 2
    apart = independent((pi_first + ref_first) / 2, (pi_second + ref_second) / 2)
    products = [
        a * (1 - a) * divergence(pi_first, ref_first) * divergence(pi_second, ref_second)
        for a, divergence in zip(TWO_ALPHAS, JS_AND_ALPHAS[1:], strict=True)
    ]
    return np.stack([2 * REVERSE_KL(mixture, apart), *products], axis=-1)


def tokens_less_deficits(
    pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values
) -> Values:
    given = (pi_first, pi_second, ref_first, ref_second)
    return summed_divergences(JS_AND_ALPHAS, *given) - deficits(*given)


def tokens_less_half(pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values) -> Values:
    given = (pi_first, pi_second, ref_first, ref_second)
    return summed_divergences(JS_AND_ALPHAS, *given) - deficits(*given) / 2


THEOREM = Theorem(
    name="B5.deficit",
    title="Independent tokens: sequence = token sum - 2 KL(m||m_1 m_2) for JS, - alpha(1-alpha) D_1 D_2",
    source=Source("ours", "product measures"),
    statement=r"D_{JS} = D_{JS,1} + D_{JS,2} - 2\,\mathrm{KL}(m\|m_1 \otimes m_2),\quad"
    r" D_\alpha = D_{\alpha,1} + D_{\alpha,2} - \alpha(1-\alpha) D_{\alpha,1} D_{\alpha,2},\quad"
    r" m = \tfrac{\pi + \pi_{ref}}{2}",
    relation=Relation.EQUAL,
    lhs=partial(independent_divergences, JS_AND_ALPHAS),
    rhs=tokens_less_deficits,
    instances=INDEPENDENT,
    expected=Verdict.PROVED,
    examples=(INDEPENDENT_PAIR,),
    symbolic=token_deficits,
    false_neighbours=(
        neighbour("the token sum itself", rhs=partial(summed_divergences, JS_AND_ALPHAS)),
        neighbour("half the deficit", rhs=tokens_less_half),
        near(0.01, pi_first=(0.35, 0.0002)),
    ),
)
