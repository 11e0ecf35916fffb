"""E4, sixth claim, refuted: a group-normalised run has one law at each beta."""

from ..numeric.balls import Values, logit
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import expected_weight


def drive(validity: Values, beta: Values) -> Values:
    """alpha_G(mu)/beta - logit mu at G = 32: a law has drive -logit A1."""
    return expected_weight(32, validity) / beta - logit(validity)


def higher(low: Values, share: Values, beta: Values) -> Values:
    return drive(low + (1 - low) * share, beta)


def lower(low: Values, beta: Values) -> Values:
    return drive(low, beta)


def small_group(validity: Values, beta: Values) -> Values:
    return 3 * expected_weight(4, validity) / beta - logit(validity)


THEOREM = Theorem(
    name="E4.unique",
    title="One law for each beta under group normalisation: refuted",
    source=Source("ours", "group normalisation"),
    statement=r"\mu < \nu \;\Rightarrow\; \tfrac{\alpha_G(\nu)}{\beta} - \mathrm{logit}\,\nu \le"
    r" \tfrac{\alpha_G(\mu)}{\beta} - \mathrm{logit}\,\mu \quad (G = 32)",
    relation=Relation.AT_MOST,
    lhs=higher,
    rhs=lower,
    instances=chart(
        low=rates(low=1e-3, high=1e-3), share=rates(low=1e-3, high=1e-3), beta=log_uniform(0.1, 2)
    ),
    expected=Verdict.REFUTED,
    examples=(example(low=".6", share=".875", beta=".42"),),
    digits=6,
    false_neighbours=(
        neighbour(
            "groups of four at a third of the beta",
            lhs=lambda low, share, beta: small_group(low + (1 - low) * share, beta),
            rhs=lambda low, beta: small_group(low, beta),
        ),
    ),
    note="Unique where the left side falls, as without normalisation and for G <= 3 (E4.constant). G = 32,"
    " A1 = .01, beta = .42 has stable laws at .504222 and .999782 with an unstable one at .849315 between.",
)
