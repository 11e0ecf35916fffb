"""L1: Gibbs' inequality, KL(q||p) >= 0."""

import sympy

from ..numeric.balls import Values, xlogy
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled


def likelihood_of_other(q: Values, p: Values) -> Values:
    return xlogy(q, p).sum(axis=-1)


def own_likelihood(q: Values) -> Values:
    return xlogy(q, q).sum(axis=-1)


def derivation() -> Claims:
    # Term by term the gap is q log(q/p) >= q (1 - p/q), L1.logarithm at s = q/p, and the q - p sum to
    # zero. Where q = 0 the gap is zero and the bound negative.
    q, p, s = sympy.symbols("q p s", positive=True)
    yield Claim("one outcome's gap", q * sympy.log(q) - q * sympy.log(p), equals=q * sympy.log(q / p))
    yield Claim("its bound", q * (1 - 1 / s).subs(s, q / p), equals=q - p)


THEOREM = Theorem(
    name="L1.gibbs",
    title="Gibbs: KL(q||p) >= 0, with equality only at p = q",
    source=Source("cover2006elements", "theorem 2.6.3"),
    statement=r"\sum_y q \log p \le \sum_y q \log q, \quad \text{with equality} \iff p = q",
    relation=Relation.AT_MOST,
    lhs=likelihood_of_other,
    rhs=own_likelihood,
    instances=chart(q=simplex(3, zeros=True), p=simplex(3)),
    expected=Verdict.PROVED,
    given=("L1.logarithm",),
    examples=(example(q=".5 .3 .2", p=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("0.2% of it to spare", rhs=scaled(own_likelihood, 1.002)),
        neighbour("weights that do not sum to one", lhs=lambda q, p: likelihood_of_other(q, 2 * p)),
    ),
)
