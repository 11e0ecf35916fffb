"""F4, refuted: an update of the reward never raises the entropy."""

from ..binary_reward import tilted
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import entropy


def after(base: Values, valid: Values, beta: Values) -> Values:
    return entropy(tilted(base, valid, beta))


THEOREM = Theorem(
    name="F4.entropy",
    title="A reward update never raises entropy: refuted",
    source=Source("wu2025leash", "as described by others; the paper was not read"),
    statement=r"H(p_\beta) \le H(a)",
    relation=Relation.AT_MOST,
    lhs=after,
    rhs=lambda base: entropy(base),
    instances=chart(base=simplex(4, spread=3.0), valid=masks(4), beta=log_uniform(0.1, 10)),
    expected=Verdict.REFUTED,
    examples=(example(base=".7 .1 .1 .1", valid=[False, True, True, True], beta=".5"),),
    false_neighbours=(neighbour("not by more than one nat", rhs=lambda base: entropy(base) + 1),),
    note="Where the base prefers a wrong answer, moving its mass to several valid ones raises entropy:"
    " .9404 to 1.3860 in the example, 1.0986 filtered. KL control keeps the ratios among valid answers (E1).",
)
