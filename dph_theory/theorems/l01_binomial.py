"""L1: the binomial theorem."""

from math import comb

import numpy as np
import sympy

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, uniform
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour

POWERS = (1, 2, 5, 8)


def expansion(a: Values, b: Values, most: int = POWERS[-1]) -> Values:
    """The sums over k <= most of C(n, k) a^k b^(n-k)."""
    sums = []
    for n in POWERS:
        total = b**n
        for k in range(1, min(n, most) + 1):
            total = total + comb(n, k) * a**k * b ** (n - k)
        sums.append(total)
    return np.stack(sums, axis=-1)


def powers(a: Values, b: Values) -> Values:
    return np.stack([(a + b) ** n for n in POWERS], axis=-1)


def derivation() -> Claims:
    # By induction: (a + b) times the expansion of order n has C(n, k-1) + C(n, k) before a^k b^(n+1-k).
    n, k = sympy.symbols("n k", integer=True, positive=True)
    pascal = sympy.binomial(n, k - 1) + sympy.binomial(n, k)
    yield Claim("Pascal's rule", pascal, equals=sympy.binomial(n + 1, k), where=(k <= n,))
    a, b, before, here = sympy.symbols("a b before here", positive=True)
    j, m = sympy.symbols("j m", positive=True)
    step = a * before * a ** (j - 1) * b ** (m - j + 1) + b * here * a**j * b ** (m - j)
    yield Claim("one power of a in the product", step, equals=(before + here) * a**j * b ** (m + 1 - j))


THEOREM = Theorem(
    name="L1.binomial",
    title="The binomial theorem",
    source=Source("rudin1976principles", "exercise 1.1"),
    statement=r"\sum_{k=0}^n \binom nk a^k b^{n-k} = (a + b)^n",
    relation=Relation.EQUAL,
    lhs=expansion,
    rhs=powers,
    instances=chart(a=uniform(0.001, 3), b=uniform(0.001, 3)),
    expected=Verdict.PROVED,
    examples=(example(a=".25", b=".75"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("its last term left out", lhs=lambda a, b: expansion(a, b, most=POWERS[-1] - 1)),
        neighbour("without the products", rhs=lambda a, b: np.stack([a**n + b**n for n in POWERS], axis=-1)),
        near(0.01, a=(1.8, 0.0005)),
    ),
)
