"""Pass@k, and how many different correct answers k draws give.

Pass@k is the chance that one of k answers is correct; its unbiased estimate takes n samples of which c are.
At a fixed pass rate k draws give the most different correct answers under the uniform policy on Y1, the
fewest under a single answer, and more whenever two masses are brought nearer.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from ...binary_reward import pass_rate
from ...coverage import averaged, exact_pass_at_k, expected_distinct_valid, pass_at_k
from ...numeric.arrays import integers as whole_number
from ...numeric.elementary import Values, masked
from ...references import Source
from ...verification.charts import chart, example, integers, masks, rates, simplex, uniform
from ...verification.statement import neighbour, theorem

MOST_K, MOST_SPARE = 5, 4
LONG_K, LONG_SPARE = 10, 20
BINOMIALS = np.array([[math.comb(n, k) for k in range(LONG_K + 1)] for n in range(LONG_K + LONG_SPARE + 1)])
"""C(n, k), zero for k > n."""


def mean_over_samples(p: Values, k: Values, spare: Values, estimator: Callable[..., Values]) -> Values:
    """E_{c ~ Binomial(n, p)} estimator(n, c, k), for n = k + spare samples, shape (batch,)."""
    p, k, n = (
        p[:, None],
        whole_number("k", k, at_least=1)[:, None],
        whole_number("n", k + spare, at_least=1)[:, None],
    )
    successes = np.arange(MOST_K + MOST_SPARE + 1)
    c = np.minimum(successes, n)  # Beyond n the binomial weight is zero.
    weight = BINOMIALS[n, successes] * p**c * (1 - p) ** (n - c)
    return (weight * estimator(n + 0 * p, c, k)).sum(axis=-1)


def expected_plug_in(p: Values, k: Values, spare: Values) -> Values:
    return mean_over_samples(p, k, spare, lambda n, c, k: 1 - (1 - c / n) ** k)


UNBIASED = theorem(
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


def samples(k: Values, spare: Values, correct: Values) -> tuple[Values, Values]:
    """Number k + spare of samples, and of correct samples, at most as many; both (batch,)."""
    n = k + spare
    return n, np.where(correct > n, n, correct)


def product_form(k: Values, spare: Values, correct: Values) -> Values:
    n, c = samples(k, spare, correct)
    return pass_at_k(n, c, k)


def binomial_form(k: Values, spare: Values, correct: Values) -> Values:
    n, c = samples(k, spare, correct)
    number, failed, draws = (whole_number("count", count, at_least=0) for count in (n, n - c, k))
    return 1 - BINOMIALS[failed, draws] / BINOMIALS[number, draws]


def one_factor_later(k: Values, spare: Values, correct: Values) -> Values:
    n, c = samples(k, spare, correct)
    return pass_at_k(n + 1, c, k)


def with_replacement(k: Values, spare: Values, correct: Values) -> Values:
    n, c = samples(k, spare, correct)
    return 1 - (1 - c / n) ** whole_number("k", k, at_least=1)


PRODUCT = theorem(
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
        neighbour("draws with replacement, 1 - (1 - c/n)^k", rhs=with_replacement),
    ),
)


LARGEST_K = 6


def chance_of_some_success(p: Values, k: Values) -> Values:
    """Mean Pass@k over prompts, (batch,), as a sum over the number of successes; p (batch, prompts)."""
    p, k = p[..., None], whole_number("k", k, at_least=1)[:, None, None]
    j = np.arange(1, LARGEST_K + 1)
    possible = np.minimum(j, k)
    mass = BINOMIALS[k, j] * p**possible * (1 - p) ** (k - possible)  # The coefficient is zero for j > k.
    return mass.sum(axis=-1).mean(axis=-1)


def mean_pass_at_k(p: Values, k: Values) -> Values:
    return exact_pass_at_k(p, k[..., None]).mean(axis=-1)


EXACT = theorem(
    "pass@k of a prompt set is the mean over prompts of 1 - (1-p)^k",
    statement=r"\mathrm{pass@}k = \mathrm{E}_x\,\mathrm{P}(\text{some of } k \text{ draws passes})"
    r" = \mathrm{E}_x[1-(1-p_x)^k]",
    source=Source("chen2021codex", "pass@k"),
    on=chart(p=rates(3), k=integers(1, LARGEST_K)),
    equal=(chance_of_some_success, mean_pass_at_k),
    examples=(example(p=".1 .3 .6 .2", k=3, value=".588"),),
    coq="mean_over_prompts",
    false=(
        neighbour(
            "1 - (1 - mean p)^k, the prompts pooled", rhs=lambda p, k: exact_pass_at_k(p.mean(axis=-1), k)
        ),
    ),
)


def distinct_with_two(q: Values, valid: Values, k: Values | float) -> Values:
    """Expected distinct correct outputs of k draws, (batch,); the first two outcomes count as correct."""
    return expected_distinct_valid(q, valid | (np.arange(q.shape[-1]) < 2), k)


MOST_DRAWS = 4


def by_enumeration(q: Values, valid: Values, k: Values) -> Values:
    """Expected distinct correct outcomes among k draws, (batch,), from all sequences of draws."""
    outcomes = q.shape[-1]
    draws = np.array(list(product(range(outcomes), repeat=MOST_DRAWS)))
    # drawn[k-1, sequence, outcome]: whether the outcome is among the first k of the sequence.
    drawn = np.logical_or.accumulate((draws[..., None] == np.arange(outcomes)).swapaxes(0, 1), axis=0)
    within = drawn[whole_number("k", k, at_least=1) - 1]
    distinct = (within & valid[:, None, :]).sum(axis=-1)
    return (distinct * np.prod(q[:, draws], axis=-1)).sum(axis=-1)


DISTINCT = theorem(
    "Expected distinct valid outputs in k draws: sum over Y1 of 1 - (1-q)^k",
    statement=r"\mathrm{E}\,|\{y_1,\dots,y_k\} \cap Y_1| = \sum_{y \in Y_1} 1-(1-q(y))^k",
    source=Source("ours", "linearity"),
    on=chart(q=simplex(3), valid=masks(3), k=integers(1, MOST_DRAWS)),
    equal=(by_enumeration, expected_distinct_valid),
    examples=(example(q=".48 .32 .15 .05", valid=[True, True, True, False], k=3, value="1.930835"),),
    coq="expected_distinct",
    false=(
        neighbour("repeats counted, k q(Y1)", rhs=lambda q, valid, k: k * pass_rate(q, valid)),
        neighbour(
            "invalid outputs counted too", rhs=lambda q, valid, k: expected_distinct_valid(q, valid | True, k)
        ),
    ),
)


def all_but_last(q: Values) -> Values:
    """Verifier mask (outcomes,): every outcome is correct but the last."""
    return np.arange(q.shape[-1]) < q.shape[-1] - 1


def rest_mass(q: Values) -> Values:
    return masked(q, all_but_last(q)).sum(axis=-1)


def distinct(q: Values, k: Values) -> Values:
    return expected_distinct_valid(q, all_but_last(q), k)


def distinct_if_uniform(q: Values, k: Values) -> Values:
    valid = all_but_last(q)
    return distinct(np.where(valid, rest_mass(q)[..., None] / int(valid.sum()), q), k)


def dirac_then_policy(q: Values, k: Values) -> Values:
    return np.stack([exact_pass_at_k(rest_mass(q), k), distinct(q, k)], axis=-1)


def policy_then_uniform(q: Values, k: Values) -> Values:
    return np.stack([distinct(q, k), distinct_if_uniform(q, k)], axis=-1)


FOUR_OUTCOMES = example(q=".48 .32 .15 .05", valid=[True, True, True, False], k=4, share=".3")

UNIFORM = theorem(
    "Dirac <= q <= uniform on Y1 in expected distinct valid outputs, at a fixed pass rate, k >= 2",
    statement=r"1-(1-\mu)^k \;\le\; \sum_{Y_1} 1-(1-q)^k \;\le\; |Y_1|\,\bigl(1-(1-\mu/|Y_1|)^k\bigr),"
    r" \quad \mu = q(Y_1)",
    source=Source("ours", "concavity"),
    on=chart(q=simplex(4), k=integers(2, 12)),
    at_most=(dirac_then_policy, policy_then_uniform),
    examples=(FOUR_OUTCOMES.giving(lhs=".99999375 2.19106383", rhs="2.19106383 2.3458886574074"),),
    coq="dirac_and_uniform",
    false=(
        neighbour(
            "whatever the pass rate: uniform on all outcomes",
            lhs=distinct,
            rhs=lambda q, k: distinct(0 * q + 1 / q.shape[-1], k),
        ),
    ),
)


def distinct_averaged(q: Values, valid: Values, k: Values | float, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, 1), valid, k)


def averaged_with_invalid(q: Values, valid: Values, k: Values, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, q.shape[-1] - 1), valid, k)


SCHUR = theorem(
    "A T-transform of two valid masses never lowers the expected distinct valid outputs",
    statement=r"D_k(q) \le D_k(Tq),\quad T = (1-t)\,I + t\,(y\,y') \text{ with } y, y' \in Y_1,\; k \ge 2",
    source=Source("ours", "concavity"),
    on=chart(q=simplex(4), valid=masks(4), k=integers(2, 12), share=uniform(0.01, 0.99)),
    at_most=(distinct_with_two, distinct_averaged),
    examples=(FOUR_OUTCOMES.giving(lhs="2.19106383", rhs="2.214367972848"),),
    coq="averaging_finds_more",
    false=(neighbour("averaging a valid with an invalid output", rhs=averaged_with_invalid),),
)


ONCE = theorem(
    "With one draw a T-transform of two valid masses changes nothing: k >= 2 is needed",
    statement=r"D_1(Tq) = D_1(q) = q(Y_1)",
    source=Source("ours", "concavity"),
    on=chart(q=simplex(4), valid=masks(4), share=uniform(0.01, 0.99)),
    equal=(partial(distinct_with_two, k=1), partial(distinct_averaged, k=1)),
    examples=(FOUR_OUTCOMES.giving(value=".95"),),
    coq="one_draw",
    false=(
        neighbour(
            "the same with two draws",
            lhs=partial(distinct_with_two, k=2),
            rhs=partial(distinct_averaged, k=2),
        ),
    ),
)
