"""D1, first claim: the pass@k estimator from n samples is unbiased."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sympy
from flint import arb

from ..coverage import exact_pass_at_k, pass_at_k
from ..numeric.arrays import whole
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, integers, rates
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import SHARE

MOST_K, MOST_SPARE = 5, 4
BINOMIALS = np.array([[math.comb(n, c) for c in range(10)] for n in range(10)])


def mean_over_samples(p: Values, k: Values, spare: Values, estimator: Callable[..., Values]) -> Values:
    """E_{c ~ Binomial(n, p)} estimator(n, c, k), for n = k + spare samples, shape (batch,)."""
    p, k, n = p[:, None], whole("k", k, at_least=1)[:, None], whole("n", k + spare, at_least=1)[:, None]
    counts = np.arange(MOST_K + MOST_SPARE + 1)
    c = np.minimum(counts, n)  # Beyond n the binomial weight is zero.
    weight = BINOMIALS[n, counts] * p**c * (1 - p) ** (n - c)
    # Adding 0 p gives the whole numbers the arithmetic of p.
    return (weight * estimator(n + 0 * p, c, k)).sum(axis=-1)


def expected_estimate(p: Values, k: Values, spare: Values) -> Values:
    return mean_over_samples(p, k, spare, pass_at_k)


def expected_plug_in(p: Values, k: Values, spare: Values) -> Values:
    return mean_over_samples(p, k, spare, lambda n, c, k: 1 - (1 - c / n) ** k)


def derivation() -> Claims:
    # E[1 - estimate] is the sum of the terms below times p^c (1-p)^(n-c), none beyond c = n - k, over
    # C(n, k): (1-p)^k (p + 1 - p)^(n-k) (L1.binomial).
    n, k = sympy.symbols("n k", integer=True, positive=True)
    c = sympy.Symbol("c", integer=True, nonnegative=True)
    term = sympy.binomial(n, c) * sympy.binomial(n - c, k)
    moved = sympy.binomial(n, k) * sympy.binomial(n - k, c)
    yield Claim("C(n, c) C(n-c, k) = C(n, k) C(n-k, c)", term, equals=moved, where=(c + k <= n,))


def counts(k: int, spare: int, p: Scalar) -> dict[str, Any]:
    return {"p": p, "k": k, "spare": spare}


def polynomials(k: int, spare: int, p: Scalar) -> list[tuple[Scalar, Scalar]]:
    n = k + spare
    chances = (math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1))
    estimates = (1 - arb(math.comb(n - c, k)) / math.comb(n, k) for c in range(n + 1))
    return [(sum(a * b for a, b in zip(chances, estimates, strict=True)), 1 - (1 - p) ** k)]


THEOREM = Theorem(
    name="D1.unbiased",
    title="E_c[1 - C(n-c,k)/C(n,k)] = 1 - (1-p)^k for c ~ Binomial(n, p)",
    source=Source("chen2021codex", "pass@k"),
    statement=r"\sum_{c=0}^n \binom nc p^c (1-p)^{n-c} \Bigl(1 - \binom{n-c}{k}/\binom nk\Bigr) = 1-(1-p)^k",
    relation=Relation.EQUAL,
    lhs=expected_estimate,
    rhs=exact_pass_at_k,
    instances=chart(p=rates(), k=integers(1, MOST_K), spare=integers(0, MOST_SPARE)),
    expected=Verdict.PROVED,
    given=("L1.binomial",),
    examples=(example(p=".3", k=4, spare=4),),
    symbolic=derivation,
    digits=8,  # fewer would round rates near 1 to 1
    reductions=tuple(
        Reduction(
            f"all of the chart's rates, for k = {k} and n = {k + spare}",
            {"p": SHARE},
            partial(counts, k, spare),
            sides=partial(polynomials, k, spare),
        )
        for k, spare in ((1, 4), (2, 4), (3, 0), (4, 4), (5, 4))
    ),
    false_neighbours=(
        neighbour("the plug-in estimate 1 - (1 - c/n)^k", lhs=expected_plug_in),
        neighbour("with k + 1 draws", rhs=lambda p, k: exact_pass_at_k(p, k + 1)),
        near(0.01, p=(0.54, 0.0003)),
    ),
)
