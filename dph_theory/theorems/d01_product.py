"""D1, second claim: the estimator's product form is a ratio of binomial coefficients, 1 if n - c < k."""

import math

import numpy as np
import sympy

from ..coverage import pass_at_k
from ..numeric.arrays import whole
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, integers
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour

MOST_K, MOST_SPARE = 10, 20
BINOMIALS = np.array([[math.comb(n, k) for k in range(MOST_K + 1)] for n in range(MOST_K + MOST_SPARE + 1)])
"""C(n, k), zero for k > n."""


def samples(k: Values, spare: Values, correct: Values) -> tuple[Values, Values]:
    """The number n = k + spare of samples, and of correct ones, cut to n."""
    n = k + spare
    return n, np.where(correct > n, n, correct)


def product_form(k: Values, spare: Values, correct: Values) -> Values:
    n, c = samples(k, spare, correct)
    return pass_at_k(n, c, k)


def binomial_form(k: Values, spare: Values, correct: Values) -> Values:
    n, c = samples(k, spare, correct)
    n_, failed, k_ = (whole("count", count, at_least=0) for count in (n, n - c, k))
    # Adding 0 n gives the whole numbers the arithmetic of the instance.
    return 1 - BINOMIALS[failed, k_] / (BINOMIALS[n_, k_] + 0 * n)


def one_factor_later(k: Values, spare: Values, correct: Values) -> Values:
    n, c = samples(k, spare, correct)
    return pass_at_k(n + 1, c, k)


def powers(k: Values, spare: Values, correct: Values) -> Values:
    n, c = samples(k, spare, correct)
    return 1 - (1 - c / n) ** whole("k", k, at_least=1)


def derivation() -> Claims:
    # One factor takes C(i, k) to C(i-1, k); the factors i = n-c+1..n take C(n, k) to C(n-c, k) one by one.
    i, k = sympy.symbols("i k", integer=True, positive=True)
    factor = (1 - k / i) * sympy.binomial(i, k)
    yield Claim("C(i-1, k) = (1 - k/i) C(i, k)", sympy.binomial(i - 1, k), equals=factor, where=(k < i,))
    last = sympy.Subs(1 - k / i, i, k)
    yield Claim("and it vanishes at i = k, where too few failures are left", last)


THEOREM = Theorem(
    name="D1.product",
    title="1 - prod_{i=n-c+1..n} (1 - k/i) = 1 - C(n-c,k)/C(n,k)",
    source=Source("chen2021codex", "pass@k"),
    statement=r"1 - \prod_{i=n-c+1}^{n}\Bigl(1-\frac ki\Bigr) = 1 - \binom{n-c}{k}/\binom nk,"
    r"\quad = 1 \text{ if } n-c < k",
    relation=Relation.EQUAL,
    lhs=product_form,
    rhs=binomial_form,
    instances=chart(
        k=integers(1, MOST_K), spare=integers(0, MOST_SPARE), correct=integers(0, MOST_K + MOST_SPARE)
    ),
    expected=Verdict.PROVED,
    examples=(example(k=4, spare=6, correct=3),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the product over i = n-c+2..n+1", lhs=one_factor_later),
        neighbour("draws with replacement, 1 - (1 - c/n)^k", rhs=powers),
        near(0.1, k=(3, 0.1), spare=(5, 0.1), correct=(3, 0.1)),
    ),
)
