"""D2. Distinct valid outputs.

How many different right answers k draws are expected to find: at fixed validity the most from the uniform
law on Y1, the fewest from a single answer, and more whenever two masses are brought nearer.
"""

import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import sympy

from ..binary_reward import valid_mass
from ..coverage import averaged, exact_pass_at_k, expected_distinct_valid
from ..numeric.arrays import whole
from ..numeric.balls import Values, only
from ..numeric.enclosures import Scalar, linear
from ..references import Source
from ..statement.charts import chart, example, integers, masks, simplex, uniform
from ..statement.theorem import Claim, FalseStep, ScalarForm, Steps, derived, enclosed, neighbour, scaled
from ._boxes import SHARE
from ._lemmas import concavity_of_hits, distinct_with_two

MOST_K = 4


def by_enumeration(q: Values, valid: Values, k: Values) -> Values:
    """The mean over all sequences of draws of the distinct valid outcomes among the first k."""
    outcomes = q.shape[-1]
    draws = np.array(list(product(range(outcomes), repeat=MOST_K)))
    # seen[k-1, sequence, outcome]: whether the outcome is among the first k of the sequence.
    seen = np.logical_or.accumulate((draws[..., None] == np.arange(outcomes)).swapaxes(0, 1), axis=0)
    within = seen[whole("k", k, at_least=1) - 1]
    distinct = (within & valid[:, None, :]).sum(axis=-1)
    return (distinct * np.prod(q[:, draws], axis=-1)).sum(axis=-1)


def counting_repeats(q: Values, valid: Values, k: Values) -> Values:
    return k * valid_mass(q, valid)


def counting_invalid(q: Values, valid: Values, k: Values) -> Values:
    return expected_distinct_valid(q, valid | True, k)


def two_valid(k: int, mu: Scalar, share: Scalar) -> dict[str, Any]:
    return {"q": [mu * share, mu * (1 - share), 1 - mu], "valid": [True, True, False], "k": k}


def polynomials(k: int, mu: Scalar, share: Scalar) -> list[tuple[Scalar, Scalar]]:
    q = mu * share, mu * (1 - share), 1 - mu
    found = sum(
        len({0, 1} & set(draws)) * math.prod(q[y] for y in draws) for draws in product(range(3), repeat=k)
    )
    return [(found, sum(1 - (1 - mass) ** k for mass in q[:2]))]


DISTINCT = enclosed(
    "D2.distinct",
    "Expected distinct valid outputs in k draws: sum over Y1 of 1 - (1-q)^k",
    statement=r"\mathrm{E}\,|\{y_1,\dots,y_k\} \cap Y_1| = \sum_{y \in Y_1} 1-(1-q(y))^k",
    source=Source("ours", "linearity"),
    on=chart(q=simplex(3), valid=masks(3), k=integers(1, MOST_K)),
    equal=(by_enumeration, expected_distinct_valid),
    examples=(example(q=".48 .32 .2", valid=[True, True, False], k=4),),
    reductions=tuple(
        ScalarForm(
            f"two valid outcomes, one invalid, k = {k}",
            {"mu": SHARE, "share": SHARE},
            partial(two_valid, k),
            sides=partial(polynomials, k),
        )
        for k in range(1, MOST_K + 1)
    ),
    false=(
        neighbour("repeats counted, k q(Y1)", rhs=counting_repeats),
        neighbour("invalid outputs counted too", rhs=counting_invalid),
    ),
)


def all_but_last(q: Values) -> Values:
    """The verifier: every outcome is valid but the last."""
    return np.arange(q.shape[-1]) < q.shape[-1] - 1


def validity(q: Values) -> Values:
    return only(q, all_but_last(q)).sum(axis=-1)


def distinct(q: Values, k: Values) -> Values:
    return expected_distinct_valid(q, all_but_last(q), k)


def distinct_if_uniform(q: Values, k: Values) -> Values:
    valid = all_but_last(q)
    return distinct(np.where(valid, validity(q)[..., None] / int(valid.sum()), q), k)


def dirac_then_law(q: Values, k: Values) -> Values:
    return np.stack([exact_pass_at_k(validity(q), k), distinct(q, k)], axis=-1)


def law_then_uniform(q: Values, k: Values) -> Values:
    return np.stack([distinct(q, k), distinct_if_uniform(q, k)], axis=-1)


def two_valid_for_uniform(k: int, mu: Scalar, apart: Scalar) -> dict[str, Any]:
    return {"q": [mu * (1 + apart) / 2, mu * (1 - apart) / 2, 1 - mu], "k": k}


def gained(k: int, mu: Scalar, apart: Scalar) -> list[Scalar]:
    # The chance that both are found, over the product of their masses; and the even terms of the binomial.
    x, y = mu * (1 + apart) / 2, mu * (1 - apart) / 2
    both = sum(
        math.comb(k, i) * math.comb(k - i, j) * x ** (i - 1) * y ** (j - 1) * (1 - mu) ** (k - i - j)
        for i in range(1, k)
        for j in range(1, k - i + 1)
    )
    rest, h2 = 1 - mu / 2, (mu * apart / 2) ** 2
    even = (math.comb(k, 2 * j) * rest ** (k - 2 * j) * h2 ** (j - 1) for j in range(1, k // 2 + 1))
    return [both, 2 * sum(even)]


UNIFORM = derived(
    "D2.uniform",
    "Dirac <= q <= uniform on Y1 in expected distinct valid outputs, at fixed validity, k >= 2",
    statement=r"1-(1-\mu)^k \;\le\; \sum_{Y_1} 1-(1-q)^k \;\le\; |Y_1|\,\bigl(1-(1-\mu/|Y_1|)^k\bigr),"
    r" \quad \mu = q(Y_1)",
    source=Source("ours", "concavity"),
    on=chart(q=simplex(4), k=integers(2, 12)),
    at_most=(dirac_then_law, law_then_uniform),
    given=("L1.jensen",),
    examples=(example(q=".48 .32 .2", k=4),),
    derivation=concavity_of_hits,
    reductions=tuple(
        ScalarForm(
            f"two valid outcomes of masses mu (1 +- apart)/2, one invalid, k = {k}",
            {"mu": SHARE, "apart": SHARE},
            partial(two_valid_for_uniform, k),
            gap=partial(gained, k),
            factor=lambda mu, apart: [mu**2 * (1 - apart**2) / 4, (mu * apart / 2) ** 2],
        )
        for k in (2, 3, 4, 8, 12)
    ),
    tight=example(q=".25 .25 .25 .25", k="6"),
    false=(
        neighbour("2% fewer for the uniform law", lhs=distinct, rhs=scaled(distinct_if_uniform, 0.98)),
        neighbour(
            "a Dirac finds 2% more",
            at=example(q=".49999999996 2e-11 2e-11 .5", k="2"),
            lhs=lambda q, k: 1.02 * exact_pass_at_k(validity(q), k),
            rhs=distinct,
        ),
        neighbour(
            "whatever the validity: the uniform law on all outcomes",
            lhs=distinct,
            rhs=lambda q, k: distinct(0 * q + 1 / q.shape[-1], k),
        ),
    ),
)


def distinct_averaged(q: Values, valid: Values, k: Values, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, 1), valid, k)


def averaged_with_invalid(q: Values, valid: Values, k: Values, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, q.shape[-1] - 1), valid, k)


def averaged_apart(q: Values, valid: Values, k: Values, share: Values) -> Values:
    """The averaging undone in excess: a share beyond 1 sets the two masses further apart."""
    low = np.where(q[..., 0] < q[..., 1], q[..., 0], q[..., 1])
    place = np.arange(q.shape[-1])
    moved = (share * low * np.where(q[..., 0] < q[..., 1], 1, -1))[..., None]
    return distinct_with_two(q + only(moved, place == 1) - only(moved, place == 0), valid, k)


def schur_steps() -> Steps:
    yield (
        "f = 1 - (1-.)^k is concave (L1.jensen): masses x, y sent to x' = (1-t)x + ty, y' = tx + (1-t)y have "
        "f(x') + f(y') at least the sum of the two means of f(x) and f(y) below, strictly more unless x = y."
    )
    yield from concavity_of_hits()
    t, x, y = sympy.symbols("t f_x f_y", real=True)
    yield Claim(
        "the two means add up to f(x) + f(y)", ((1 - t) * x + t * y) + (t * x + (1 - t) * y), equals=x + y
    )
    yield FalseStep("with the same weight twice", ((1 - t) * x + t * y) + ((1 - t) * x + t * y), equals=x + y)


def two_valid_for_transform(k: int, mu: Scalar, apart: Scalar, share: Scalar) -> dict[str, Any]:
    q = [mu * (1 + apart) / 2, mu * (1 - apart) / 2, 1 - mu]
    return {"q": q, "valid": [True, True, False], "k": k, "share": share}


def gained_by_transform(k: int, mu: Scalar, apart: Scalar, share: Scalar) -> list[Scalar]:
    # (1-m-h)^k + (1-m+h)^k = 2 sum_j C(k, 2j) (1-m)^(k-2j) h^2j, and T takes h to (1-2t) h.
    rest, h2, kept = 1 - mu / 2, (mu * apart / 2) ** 2, (1 - 2 * share) ** 2
    terms = (
        math.comb(k, 2 * j) * rest ** (k - 2 * j) * h2 ** (j - 1) * sum(kept**i for i in range(j))
        for j in range(1, k // 2 + 1)
    )
    return [2 * sum(terms)]


SCHUR = derived(
    "D2.schur",
    "A T-transform of two valid masses never lowers the expected distinct valid outputs",
    statement=r"D_k(q) \le D_k(Tq),\quad T = (1-t)\,I + t\,(y\,y') \text{ with } y, y' \in Y_1,\; k \ge 2",
    source=Source("ours", "concavity"),
    on=chart(q=simplex(4), valid=masks(4), k=integers(2, 12), share=uniform(0.01, 0.99)),
    at_most=(distinct_with_two, distinct_averaged),
    given=("L1.jensen",),
    examples=(example(q=".48 .32 .1 .1", valid=[True, True, False, False], k=4, share=".5"),),
    derivation=schur_steps,
    reductions=tuple(
        ScalarForm(
            f"two valid outcomes of masses mu (1 +- apart)/2, one invalid, k = {k}",
            {"mu": SHARE, "apart": SHARE, "share": linear("0.01", "0.99")},
            partial(two_valid_for_transform, k),
            gap=partial(gained_by_transform, k),
            factor=lambda mu, apart, share: [share * (1 - share) * (mu * apart) ** 2],
        )
        for k in (2, 3, 4, 8, 12)
    ),
    tight=example(q=".3 .3 .3 .1", valid=[True, True, True, False], k="3", share=".9"),
    false=(
        neighbour("averaging a valid with an invalid output", rhs=averaged_with_invalid),
        neighbour("moving mass from the rarer to the likelier", rhs=averaged_apart),
    ),
)


def in_one_draw(q: Values, valid: Values) -> Values:
    return distinct_with_two(q, valid, 1)


def in_one_draw_averaged(q: Values, valid: Values, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, 1), valid, 1)


def two_valid_for_one_draw(mu: Scalar, inner: Scalar, share: Scalar) -> dict[str, Any]:
    return {"q": [mu * inner, mu * (1 - inner), 1 - mu], "valid": [True, True, False], "share": share}


def totals(mu: Scalar, inner: Scalar, share: Scalar) -> list[tuple[Scalar, Scalar]]:
    x, y = mu * inner, mu * (1 - inner)
    return [(x + y, (1 - share) * x + share * y + share * x + (1 - share) * y)]


ONCE = enclosed(
    "D2.once",
    "With one draw a T-transform of two valid masses changes nothing: k >= 2 is needed",
    statement=r"D_1(Tq) = D_1(q) = q(Y_1)",
    source=Source("ours", "concavity"),
    on=chart(q=simplex(4), valid=masks(4), share=uniform(0.01, 0.99)),
    equal=(in_one_draw, in_one_draw_averaged),
    examples=(example(q=".48 .32 .1 .1", valid=[True, True, False, False], share=".5"),),
    reductions=(
        ScalarForm(
            "two valid outcomes, one invalid",
            {"mu": SHARE, "inner": SHARE, "share": linear("0.01", "0.99")},
            two_valid_for_one_draw,
            sides=totals,
        ),
    ),
    false=(
        neighbour(
            "the same with two draws",
            lhs=lambda q, valid: distinct_with_two(q, valid, 2),
            rhs=lambda q, valid, share: distinct_with_two(averaged(q, share, 0, 1), valid, 2),
        ),
    ),
)
