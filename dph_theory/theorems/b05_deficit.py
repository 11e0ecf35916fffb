"""B5: for product measures, by how much the sequence divergence falls short of the token sum."""

import numpy as np
import sympy

from ..divergences import JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour
from .b01_convex import each
from .b05_chain import sequences

INDEPENDENT = chart(pi_first=simplex(3), pi_second=simplex(3), ref_first=simplex(3), ref_second=simplex(3))
"""Two laws of two independent tokens."""
EXAMPLE = example(pi_first=".9 .05 .05", pi_second=".8 .1 .1", ref_first=".1 .7 .2", ref_second=".2 .2 .6")
ALPHAS = (0.25, 0.5)
ALPHA_FAMILY = tuple(map(alpha_divergence, ALPHAS))
BOTH = (JENSEN_SHANNON, *ALPHA_FAMILY)


def product(first, second):
    return sequences(first, second[..., None, :])


def of_sequences(divergences):
    def side(pi_first, pi_second, ref_first, ref_second):
        pi, ref = product(pi_first, pi_second), product(ref_first, ref_second)
        return each(lambda divergence: divergence(pi, ref), divergences)

    return side


def of_tokens(divergences, *, factor=1):
    def side(pi_first, pi_second, ref_first, ref_second):
        first = each(lambda divergence: divergence(pi_first, ref_first), divergences)
        return factor * (first + each(lambda divergence: divergence(pi_second, ref_second), divergences))

    return side


def deficits(pi_first, pi_second, ref_first, ref_second):
    """2 KL of the sequences' mixture from the product of the tokens' mixtures; alpha(1-alpha) D_1 D_2."""
    mixture = (product(pi_first, pi_second) + product(ref_first, ref_second)) / 2
    independent = product((pi_first + ref_first) / 2, (pi_second + ref_second) / 2)
    products = [
        a * (1 - a) * divergence(pi_first, ref_first) * divergence(pi_second, ref_second)
        for a, divergence in zip(ALPHAS, ALPHA_FAMILY, strict=True)
    ]
    return np.stack([2 * REVERSE_KL(mixture, independent), *products], axis=-1)


def tokens_less_deficits(pi_first, pi_second, ref_first, ref_second):
    given = (pi_first, pi_second, ref_first, ref_second)
    return of_tokens(BOTH)(*given) - deficits(*given)


def tokens_less_half(pi_first, pi_second, ref_first, ref_second):
    given = (pi_first, pi_second, ref_first, ref_second)
    return of_tokens(BOTH)(*given) - deficits(*given) / 2


def derivation():
    # Jensen-Shannon, the policy's share of one sequence xy; the reference's is alike with q for p. Summed
    # over y (over x) the token terms lose the other factor, since it sums to one.
    p1, p2, m1, m2, m = sympy.symbols("p_1 p_2 m_1 m_2 m", positive=True)
    tokens = p1 * p2 * (sympy.log(p1 / m1) + sympy.log(p2 / m2))
    sequence = p1 * p2 * sympy.log(p1 * p2 / m)
    # Adding both shares gives the weight p_1 p_2 + q_1 q_2 = 2m to this logarithm: 2 KL(m || m_1 m_2).
    yield Claim("Jensen-Shannon, one share", tokens - sequence - p1 * p2 * sympy.log(m / (m1 * m2)))
    # alpha: 1 - alpha(1-alpha) D = sum p^{1-alpha} q^alpha is multiplicative over independent tokens.
    D1, D2, a = sympy.symbols("D_1 D_2 alpha", real=True)
    w = a * (1 - a)
    yield Claim("alpha", 1 - w * (D1 + D2 - w * D1 * D2) - (1 - w * D1) * (1 - w * D2))


THEOREM = Theorem(
    name="B5.deficit",
    title="Independent tokens: sequence = token sum - 2 KL(m||m_1 m_2) for JS, - alpha(1-alpha) D_1 D_2",
    source=Source("ours", "product measures"),
    statement=r"D_{JS} = D_{JS,1} + D_{JS,2} - 2\,\mathrm{KL}(m\|m_1 \otimes m_2),\quad"
    r" D_\alpha = D_{\alpha,1} + D_{\alpha,2} - \alpha(1-\alpha) D_{\alpha,1} D_{\alpha,2},\quad"
    r" m = \tfrac{\pi + \pi_{ref}}{2}",
    relation=Relation.EQUAL,
    lhs=of_sequences(BOTH),
    rhs=tokens_less_deficits,
    instances=INDEPENDENT,
    expected=Verdict.PROVED,
    examples=(EXAMPLE,),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the token sum itself", rhs=of_tokens(BOTH)),
        neighbour("half the deficit", rhs=tokens_less_half),
    ),
)
