"""J8. A verifier whose errors are tied to answers.

Some incorrect answers always pass. As beta falls the correct ones gain first and these hacks last, so
the true pass rate has a best beta; errors that do not depend on the answer have none.
"""

import numpy as np

from ..laws import best_beta
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.theorem import neighbour, theorem


def true_rate(right: Values, hacks: Values, accepted: Values, refused: Values, beta: Values) -> Values:
    wrong = (1 - right - hacks) * np.exp((accepted + refused - 1) / beta)
    return right / (right + wrong + hacks * np.exp(refused / beta))


def at_the_best(right: Values, hacks: Values, accepted: Values, refused: Values) -> Values:
    best = best_beta(right, hacks, accepted, refused)
    return true_rate(right, hacks, accepted, refused, best)


def without_refusals(right: Values, hacks: Values, accepted: Values, refused: Values) -> Values:
    """At the beta of the odds A0/h alone."""
    beta = (1 - accepted) / np.log((1 - right - hacks) / hacks)
    return true_rate(right, hacks, accepted, refused, beta)


BEST = theorem(
    "J8.best",
    "Where some incorrect answers always pass, the true pass rate is highest at one beta",
    statement=r"V(\beta) \le V(\beta^*), \quad \beta^* = \frac{1-\varphi}{\log(J A_0/(\nu h))},"
    r" \quad J = 1 - \varphi - \nu,\; J A_0 > \nu h",
    source=Source("ours", "what the sampler selects"),
    on=chart(
        right=uniform(0.05, 0.5),
        hacks=log_uniform(1e-6, 1e-2),
        accepted=uniform(0, 0.3),
        refused=uniform(0.02, 0.3),
        beta=log_uniform(0.02, 5),
    ),
    at_most=(true_rate, at_the_best),
    examples=(
        example(
            right=".2",
            hacks=".001",
            accepted=".05",
            refused=".1",
            beta=".02",
            lhs=".574031131646",
            rhs=".986051133062",
        ),
    ),
    coq="best_under_hacks",
    note="With 20% correct, a thousandth of hacks, 5% of incorrect answers accepted and 10% of correct ones"
    " refused the best beta is .107668.",
    false=(
        neighbour(
            "the odds of wrong to hacks alone",
            at=example(right=".2", hacks=".001", accepted=".05", refused=".1", beta=".11"),
            rhs=without_refusals,
        ),
    ),
)
