"""E4, fifth claim: from one half up the weight of groups of four and more rises with the validity."""

import numpy as np

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import expected_weight

SIZES = (4, 8, 16)


def _at(validity: Values) -> Values:
    return np.stack([expected_weight(size, validity) for size in SIZES], axis=-1)


def lower(away: Values, share: Values) -> Values:
    return _at(0.5 + share * away / 2)


def higher(away: Values) -> Values:
    return _at(0.5 + away / 2)


def mirrored(away: Values) -> Values:
    return 1.01 * _at(0.5 - away / 2)


THEOREM = Theorem(
    name="E4.rises",
    title="alpha_G rises on [1/2, 1) for G >= 4, so one beta can have several laws",
    source=Source("ours", "group normalisation"),
    statement=r"\tfrac12 \le V < W < 1,\; G \ge 4 \;\Rightarrow\; \alpha_G(V) \le \alpha_G(W)",
    relation=Relation.AT_MOST,
    lhs=lower,
    rhs=higher,
    instances=chart(away=rates(low=1e-3, high=1e-3), share=rates(low=1e-3, high=1e-3)),
    expected=Verdict.CERTIFIED,
    examples=(example(away=".8", share=".5"),),
    digits=6,
    false_neighbours=(
        neighbour("1% more below one half than above", lhs=mirrored),
        near(-0.01, share=(0.51, 0.0002)),
    ),
    note="Where logit mu - logit A1 = alpha_G(mu)/beta has two roots mu < nu, 1/beta = (logit nu - logit mu)/"
    "(alpha_G(nu) - alpha_G(mu)): any pair above one half is a pair of laws of some beta and base rate, if a"
    " small one (`dph_theory.laws.several_laws_below`).",
)
