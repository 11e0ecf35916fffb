"""D1. Pass@k.

pass@k, the chance that one of k answers is correct, and its unbiased estimate from n samples of which
c are.
"""

import math
from collections.abc import Callable

import numpy as np

from ..coverage import exact_pass_at_k, pass_at_k
from ..numeric.arrays import whole
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, integers, rates
from ..statement.theorem import neighbour, theorem

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


def expected_plug_in(p: Values, k: Values, spare: Values) -> Values:
    return mean_over_samples(p, k, spare, lambda n, c, k: 1 - (1 - c / n) ** k)


UNBIASED = theorem(
    "D1.unbiased",
    "E_c[1 - C(n-c,k)/C(n,k)] = 1 - (1-p)^k for c ~ Binomial(n, p)",
    statement=r"\sum_{c=0}^n \binom nc p^c (1-p)^{n-c} \Bigl(1 - \binom{n-c}{k}/\binom nk\Bigr) = 1-(1-p)^k",
    source=Source("chen2021codex", "pass@k"),
    on=chart(p=rates(), k=integers(1, MOST_K), spare=integers(0, MOST_SPARE)),
    equal=(lambda p, k, spare: mean_over_samples(p, k, spare, pass_at_k), exact_pass_at_k),
    examples=(example(p=".3", k=3, spare=2, value=".657"),),
    coq="unbiased",
    false=(
        neighbour("the plug-in estimate 1 - (1 - c/n)^k", lhs=expected_plug_in),
        neighbour("with k + 1 draws", rhs=lambda p, k: exact_pass_at_k(p, k + 1)),
    ),
)


LONG_K, LONG_SPARE = 10, 20


BINOMIALS_OF_ALL = np.array(
    [[math.comb(n, k) for k in range(LONG_K + 1)] for n in range(LONG_K + LONG_SPARE + 1)]
)
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
    return 1 - BINOMIALS_OF_ALL[failed, k_] / (BINOMIALS_OF_ALL[n_, k_] + 0 * n)


def one_factor_later(k: Values, spare: Values, correct: Values) -> Values:
    n, c = samples(k, spare, correct)
    return pass_at_k(n + 1, c, k)


def powers(k: Values, spare: Values, correct: Values) -> Values:
    n, c = samples(k, spare, correct)
    return 1 - (1 - c / n) ** whole("k", k, at_least=1)


PRODUCT = theorem(
    "D1.product",
    "1 - prod_{i=n-c+1..n} (1 - k/i) = 1 - C(n-c,k)/C(n,k)",
    statement=r"1 - \prod_{i=n-c+1}^{n}\Bigl(1-\frac ki\Bigr) = 1 - \binom{n-c}{k}/\binom nk,"
    r"\quad = 1 \text{ if } n-c < k",
    source=Source("chen2021codex", "pass@k"),
    on=chart(k=integers(1, LONG_K), spare=integers(0, LONG_SPARE), correct=integers(0, LONG_K + LONG_SPARE)),
    equal=(product_form, binomial_form),
    examples=(example(k=3, spare=2, correct=2, value=".9"),),
    coq="product_form",
    false=(
        neighbour("the product over i = n-c+2..n+1", lhs=one_factor_later),
        neighbour("draws with replacement, 1 - (1 - c/n)^k", rhs=powers),
    ),
)


LARGEST_K = 6


TABLE = np.array([[math.comb(k, j) for j in range(LARGEST_K + 1)] for k in range(LARGEST_K + 1)])


def chance_of_some_success(p: Values, k: Values) -> Values:
    """P(at least one of k draws passes), by the number j of those that do, averaged over prompts."""
    p, k = p[..., None], whole("k", k, at_least=1)[:, None, None]
    j = np.arange(1, LARGEST_K + 1)
    possible = np.minimum(j, k)
    mass = TABLE[k, j] * p**possible * (1 - p) ** (k - possible)  # The coefficient is zero for j > k.
    return mass.sum(axis=-1).mean(axis=-1)


def mean_pass_at_k(p: Values, k: Values) -> Values:
    return exact_pass_at_k(p, k[..., None]).mean(axis=-1)


def of_mean_rate(p: Values, k: Values) -> Values:
    return exact_pass_at_k(p.mean(axis=-1), k)


EXACT = theorem(
    "D1.exact",
    "pass@k of a prompt set is the mean over prompts of 1 - (1-p)^k",
    statement=r"\mathrm{pass@}k = \mathrm{E}_x\,\mathrm{P}(\text{some of } k \text{ draws passes})"
    r" = \mathrm{E}_x[1-(1-p_x)^k]",
    source=Source("chen2021codex", "pass@k"),
    on=chart(p=rates(3), k=integers(1, LARGEST_K)),
    equal=(chance_of_some_success, mean_pass_at_k),
    examples=(example(p=".1 .3 .6 .2", k=3, value=".588"),),
    coq="mean_over_prompts",
    false=(neighbour("1 - (1 - mean p)^k, the prompts pooled", rhs=of_mean_rate),),
)
