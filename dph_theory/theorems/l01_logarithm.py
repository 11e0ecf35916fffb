"""L1: the logarithm's tangent from below, log s >= 1 - 1/s."""

import numpy as np

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import logarithm_bound


def bound(s: Values) -> Values:
    return (s - 1) / s


THEOREM = Theorem(
    name="L1.logarithm",
    title="log s >= 1 - 1/s, with equality at s = 1 only",
    source=Source("cover2006elements", "equation 2.85"),
    statement=r"1 - \frac1s \le \log s, \quad \text{with equality} \iff s = 1",
    relation=Relation.AT_MOST,
    lhs=bound,
    rhs=lambda s: np.log(s),
    instances=chart(s=log_uniform(1e-6, 1e6)),
    expected=Verdict.PROVED,
    given=("L1.rising",),
    examples=(example(s=".5"), example(s="1.25")),
    symbolic=logarithm_bound,
    tight=True,
    false_neighbours=(
        neighbour("a bound 0.2% higher", lhs=scaled(bound, 1.002)),
        neighbour("s - 1, the tangent from above", lhs=lambda s: s - 1),
    ),
)
