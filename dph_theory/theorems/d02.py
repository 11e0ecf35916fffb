"""D2. Distinct valid outputs.

How many different correct answers k draws are expected to find: at a fixed pass rate the most from
the uniform policy on Y1, the fewest from a single answer, and more whenever two masses are brought nearer.
"""

from itertools import product

import numpy as np

from ..binary_reward import valid_mass
from ..coverage import averaged, exact_pass_at_k, expected_distinct_valid
from ..numeric.arrays import whole
from ..numeric.elementary import Values, only
from ..references import Source
from ..statement.charts import chart, example, integers, masks, simplex, uniform
from ..statement.theorem import neighbour, theorem


def distinct_with_two(q: Values, valid: Values, k: Values | float) -> Values:
    """Expected distinct valid outputs, where the first two outcomes are valid whatever the mask says."""
    return expected_distinct_valid(q, valid | (np.arange(q.shape[-1]) < 2), k)


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


DISTINCT = theorem(
    "D2.distinct",
    "Expected distinct valid outputs in k draws: sum over Y1 of 1 - (1-q)^k",
    statement=r"\mathrm{E}\,|\{y_1,\dots,y_k\} \cap Y_1| = \sum_{y \in Y_1} 1-(1-q(y))^k",
    source=Source("ours", "linearity"),
    on=chart(q=simplex(3), valid=masks(3), k=integers(1, MOST_K)),
    equal=(by_enumeration, expected_distinct_valid),
    examples=(example(q=".48 .32 .15 .05", valid=[True, True, True, False], k=3, value="1.930835"),),
    coq="expected_distinct",
    false=(
        neighbour("repeats counted, k q(Y1)", rhs=lambda q, valid, k: k * valid_mass(q, valid)),
        neighbour(
            "invalid outputs counted too", rhs=lambda q, valid, k: expected_distinct_valid(q, valid | True, k)
        ),
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


KEPT = example(q=".48 .32 .15 .05", valid=[True, True, True, False], k=4, share=".3")

UNIFORM = theorem(
    "D2.uniform",
    "Dirac <= q <= uniform on Y1 in expected distinct valid outputs, at a fixed pass rate, k >= 2",
    statement=r"1-(1-\mu)^k \;\le\; \sum_{Y_1} 1-(1-q)^k \;\le\; |Y_1|\,\bigl(1-(1-\mu/|Y_1|)^k\bigr),"
    r" \quad \mu = q(Y_1)",
    source=Source("ours", "concavity"),
    on=chart(q=simplex(4), k=integers(2, 12)),
    at_most=(dirac_then_law, law_then_uniform),
    examples=(KEPT.giving(lhs=".99999375 2.19106383", rhs="2.19106383 2.3458886574074"),),
    coq="dirac_and_uniform",
    false=(
        neighbour(
            "whatever the pass rate: uniform on all outcomes",
            lhs=distinct,
            rhs=lambda q, k: distinct(0 * q + 1 / q.shape[-1], k),
        ),
    ),
)


def distinct_averaged(q: Values, valid: Values, k: Values, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, 1), valid, k)


def averaged_with_invalid(q: Values, valid: Values, k: Values, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, q.shape[-1] - 1), valid, k)


SCHUR = theorem(
    "D2.schur",
    "A T-transform of two valid masses never lowers the expected distinct valid outputs",
    statement=r"D_k(q) \le D_k(Tq),\quad T = (1-t)\,I + t\,(y\,y') \text{ with } y, y' \in Y_1,\; k \ge 2",
    source=Source("ours", "concavity"),
    on=chart(q=simplex(4), valid=masks(4), k=integers(2, 12), share=uniform(0.01, 0.99)),
    at_most=(distinct_with_two, distinct_averaged),
    examples=(KEPT.giving(lhs="2.19106383", rhs="2.214367972848"),),
    coq="averaging_finds_more",
    false=(neighbour("averaging a valid with an invalid output", rhs=averaged_with_invalid),),
)


def in_one_draw_averaged(q: Values, valid: Values, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, 1), valid, 1)


ONCE = theorem(
    "D2.once",
    "With one draw a T-transform of two valid masses changes nothing: k >= 2 is needed",
    statement=r"D_1(Tq) = D_1(q) = q(Y_1)",
    source=Source("ours", "concavity"),
    on=chart(q=simplex(4), valid=masks(4), share=uniform(0.01, 0.99)),
    equal=(lambda q, valid: distinct_with_two(q, valid, 1), in_one_draw_averaged),
    examples=(KEPT.giving(value=".95"),),
    coq="one_draw",
    false=(
        neighbour(
            "the same with two draws",
            lhs=lambda q, valid: distinct_with_two(q, valid, 2),
            rhs=lambda q, valid, share: distinct_with_two(averaged(q, share, 0, 1), valid, 2),
        ),
    ),
)
