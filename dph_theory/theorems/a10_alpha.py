"""A10, sixth claim: an alpha-divergence to p_* over the same family keeps coverage; false at alpha = 1/2."""

from ..divergences import alpha_divergence
from ..references import Source
from ..statement.charts import chart, example, log_uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._lemmas import dirac_to_filtered, law_to_filtered

THEOREM = Theorem(
    name="A10.alpha",
    title="alpha = 1/2: a law that keeps all outcomes is nearer to p_* than a Dirac: refuted",
    source=Source("ours", "misspecification"),
    statement=r"q > 0 \;\Rightarrow\; D_{f_\alpha}(q\|p_*) \le \min_y D_{f_\alpha}(\delta_y\|p_*),"
    r" \quad \alpha = \tfrac12",
    relation=Relation.AT_MOST,
    lhs=lambda q, base: law_to_filtered(q, base, alpha_divergence(0.5)),
    rhs=lambda base: dirac_to_filtered(base, alpha_divergence(0.5)),
    instances=chart(q=log_uniform(1e-3, 1, 4), base=log_uniform(1e-3, 1, 4)),
    expected=Verdict.REFUTED,
    examples=(example(q=".3 .3 .2 .2", base=".3 .2 .1 .4"),),
    false_neighbours=(
        neighbour(
            "alpha = 0.9998 instead",
            lhs=lambda q, base: law_to_filtered(q, base, alpha_divergence(0.9998)),
            rhs=lambda base: dirac_to_filtered(base, alpha_divergence(0.9998)),
        ),
        neighbour(
            "for laws with at least a third of their mass valid",
            instances=chart(q=log_uniform(0.5, 1, 4), base=log_uniform(1e-3, 1, 4)),
        ),
    ),
    note="For alpha in (0, 1) a Dirac costs a finite amount. A10.threshold holds instead: each law has one "
    "alpha* in (0, 1), above which it is nearer to p_* than any Dirac and below which it is not (alpha* = "
    "0.504968 in the example); for alpha >= 1 it always is (A10.above).",
)
