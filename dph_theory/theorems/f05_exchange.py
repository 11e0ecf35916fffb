"""F5, refuted as a law: along training validity is exchanged for entropy, R = -c e^H + d."""

from ..binary_reward import tilted, valid_mass
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import entropy


def exchange(base: Values, valid: Values, beta: Values, less: Values) -> Values:
    """The change of validity times that of entropy, from one beta to a smaller one."""
    early, late = tilted(base, valid, beta), tilted(base, valid, beta * less)
    return (valid_mass(late, valid) - valid_mass(early, valid)) * (entropy(late) - entropy(early))


def from_the_base(base: Values, valid: Values, beta: Values) -> Values:
    law = tilted(base, valid, beta)
    return (valid_mass(law, valid) - valid_mass(base, valid)) * (entropy(law) - entropy(base))


THEOREM = Theorem(
    name="F5.exchange",
    title="Validity R = -c e^H + d along training: refuted as an identity",
    source=Source("cui2025entropy", "stated there as an empirical fit"),
    statement=r"R = -c\,e^{H} + d,\; c > 0 \;\Rightarrow\; \Delta R\,\Delta H \le 0 \text{ along } p_\beta",
    relation=Relation.AT_MOST,
    lhs=exchange,
    rhs=lambda beta: 0 * beta,
    instances=chart(
        base=simplex(4, spread=3.0), valid=masks(4), beta=log_uniform(0.2, 10), less=log_uniform(0.2, 0.9)
    ),
    expected=Verdict.REFUTED,
    examples=(example(base=".7 .1 .1 .1", valid=[False, True, True, True], beta="1", less=".5"),),
    false_neighbours=(
        neighbour("from the base on", lhs=from_the_base),
        neighbour("at most 0.1", rhs=lambda beta: 0.1 + 0 * beta),
    ),
    note="Along the tilted path entropy can rise with validity (F4). A fit to runs whose entropy falls may"
    " hold there; it is no law of the objective.",
)
