"""F4. Entropy under a reward.

That an update by reward never raises entropy: it does where the base prefers one incorrect answer
to several correct ones.
"""

from ..binary_reward import tilted
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import neighbour, refuted
from ._laws import entropy


def after(base: Values, valid: Values, beta: Values) -> Values:
    return entropy(tilted(base, valid, beta))


ENTROPY = refuted(
    "F4.entropy",
    "A reward update never raises entropy: refuted",
    statement=r"H(p_\beta) \le H(a)",
    source=Source("wu2025leash", "as described by others; the paper was not read"),
    on=chart(base=simplex(4, spread=3.0), valid=masks(4), beta=log_uniform(0.1, 10)),
    at_most=(after, lambda base: entropy(base)),
    examples=(
        example(
            base=".7 .1 .1 .1",
            valid=[False, True, True, True],
            beta=".5",
            lhs="1.3860250442586",
            rhs=".9404479886553",
        ),
    ),
    note="Where the base prefers an incorrect answer, moving its mass to several valid ones raises entropy:"
    " .9404 to 1.3860 in the example, 1.0986 filtered. KL control keeps the ratios among valid answers (E1).",
    coq="entropy_rises",
    false=(
        neighbour(
            "not by more than one nat",
            at=example(base=".02 .02 .02 .94", valid=[True, True, True, False], beta=".3"),
            rhs=lambda base: entropy(base) + 1,
        ),
    ),
)
