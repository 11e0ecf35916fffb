"""D3, first claim: on one prompt pass@1 up implies pass@k up, whatever changed the policy."""

import numpy as np

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import Chart, chart, example, integers, simplex, uniform
from ..statement.neighbours import rates_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ..strategies import shared_pass_at_k
from ._lemmas import hits_rise


def by_pass_at_1(q: Values, other: Values, rho: Values, success: Values, k: Values) -> tuple[Values, Values]:
    """pass@k of both policies, the one of lower pass@1 first."""
    ones = [shared_pass_at_k(policy, rho, success, 1 + 0 * k) for policy in (q, other)]
    first, second = (shared_pass_at_k(policy, rho, success, k) for policy in (q, other))
    ordered = ones[0] < ones[1]
    return np.where(ordered, first, second), np.where(ordered, second, first)


def of_worse(q: Values, other: Values, rho: Values, success: Values, k: Values) -> Values:
    return by_pass_at_1(q, other, rho, success, k)[0]


def of_better(q: Values, other: Values, rho: Values, success: Values, k: Values) -> Values:
    return by_pass_at_1(q, other, rho, success, k)[1]


def instances(types: int) -> Chart:
    """Two policies over three strategies, on that many types of prompts."""
    return chart(
        q=simplex(3), other=simplex(3), rho=simplex(types), success=uniform(0, 1, types, 3), k=integers(2, 8)
    )


THEOREM = Theorem(
    name="D3.single",
    title="One prompt: the policy of higher pass@1 has the higher pass@k",
    source=Source("ours", "shared strategies"),
    statement=r"p \le p' \;\Rightarrow\; 1-(1-p)^k \le 1-(1-p')^k",
    relation=Relation.AT_MOST,
    lhs=of_worse,
    rhs=of_better,
    instances=instances(types=1),
    expected=Verdict.PROVED,
    examples=(example(q=".3 .3 .4", other=".8 .1 .1", rho="1 ", success=[".9 .2 .1"], k=4),),
    symbolic=hits_rise,
    tight=True,
    false_neighbours=(
        neighbour("with two types of prompts", instances=instances(types=2), examples=()),
        rates_clamped("success", 0.01),
    ),
)
