"""A3, third claim: along the natural gradient flow the ratios inside Y1 stay those of the base."""

import sympy

from ..binary_reward import filtered, tilted
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def inside_valid(base: Values, valid: Values, time: Values) -> Values:
    return filtered(tilted(base, valid, 1 / time), valid)


def derivation() -> Claims:
    a, b, t, Z = sympy.symbols("a b t Z", positive=True)
    ratio = (a * sympy.exp(t) / Z) / (b * sympy.exp(t) / Z)
    yield Claim("the ratio of two valid outcomes", ratio, equals=a / b)


THEOREM = Theorem(
    name="A3.ratios",
    title="Natural gradient keeps the ratios inside Y1: q_t(.|Y1) = p_*",
    source=Source("ours", "natural gradient"),
    statement=r"q_t = p_{1/t} \;\Rightarrow\; q_t(\cdot \mid Y_1) = p_* \text{ for every } t",
    relation=Relation.EQUAL,
    lhs=inside_valid,
    rhs=filtered,
    instances=chart(base=simplex(5), valid=masks(5), time=log_uniform(1e-3, 1e3)),
    expected=Verdict.PROVED,
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="2"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the whole policy stays", lhs=lambda base, valid, time: tilted(base, valid, 1 / time)),
        neighbour(
            "the conditional sharpens as a base tempered by 2%",
            rhs=lambda base, valid: filtered(base**1.02 / (base**1.02).sum(axis=-1, keepdims=True), valid),
        ),
        masses_clamped("base", 1.9e-11),
    ),
)
