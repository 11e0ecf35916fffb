"""F5. Pass rate against entropy.

That the pass rate is a function -c e^H + d of entropy along training: along the tilted path both can rise
together.
"""

from ..binary_reward import tilted, valid_mass
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import neighbour, refuted
from ._laws import entropy


def exchange(base: Values, valid: Values, beta: Values, less: Values) -> Values:
    """The change of pass rate times that of entropy, from one beta to a smaller one."""
    early, late = tilted(base, valid, beta), tilted(base, valid, beta * less)
    return (valid_mass(late, valid) - valid_mass(early, valid)) * (entropy(late) - entropy(early))


def from_the_base(base: Values, valid: Values, beta: Values) -> Values:
    law = tilted(base, valid, beta)
    return (valid_mass(law, valid) - valid_mass(base, valid)) * (entropy(law) - entropy(base))


EXCHANGE = refuted(
    "F5.exchange",
    "Pass rate R = -c e^H + d along training: refuted as an identity",
    statement=r"R = -c\,e^{H} + d,\; c > 0 \;\Rightarrow\; \Delta R\,\Delta H \le 0 \text{ along } p_\beta",
    source=Source("cui2025entropy", "stated there as an empirical fit"),
    on=chart(
        base=simplex(4, spread=3.0), valid=masks(4), beta=log_uniform(0.2, 10), less=log_uniform(0.2, 0.9)
    ),
    at_most=(exchange, lambda beta: 0 * beta),
    examples=(
        example(
            base=".7 .1 .1 .1",
            valid=[False, True, True, True],
            beta="1",
            less=".5",
            lhs=".0232152689972",
            rhs="0",
        ),
    ),
    note="Along the tilted path entropy can rise with the pass rate (F4). A fit to runs whose entropy falls"
    " may hold there; the objective does not imply it.",
    false=(neighbour("from the base on", lhs=from_the_base),),
)
