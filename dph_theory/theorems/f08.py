"""F8. Ever fewer answers as beta decreases?.

That the model keeps ever fewer answers as beta falls: the number of valid answers kept can rise again.
"""

import numpy as np

from ..binary_reward import filtered
from ..numeric.elementary import Values
from ..references import Source
from ..restricted import projection
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.theorem import neighbour, refuted
from ._laws import chosen_law, entropy


def at_beta(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    return _effective_number(chosen_law(projection(family, base, valid, beta), family), valid)


def at_smaller_beta(family: Values, base: Values, valid: Values, beta: Values, fraction: Values) -> Values:
    return at_beta(family, base, valid, fraction * beta)


def _effective_number(law: Values, valid: Values) -> Values:
    """e^H of the policy on the valid answers."""
    within = filtered(law, valid)
    return np.exp(entropy(np.where(valid, within, 1.0)))  # 1 log 1 is no entropy.


FEWER = refuted(
    "F8.fewer",
    "'Ever fewer valid answers as beta decreases': refuted, even for restricted families",
    statement=r"\beta' \le \beta \;\Rightarrow\;"
    r" e^{H(\pi_{\beta'}(\cdot|Y_1))} \le e^{H(\pi_\beta(\cdot|Y_1))},"
    r"\quad \pi_\beta = \arg\min_{\pi\in\Pi} \mathrm{KL}(\pi\|p_\beta)",
    source=Source("dymetman2026binary", "misspecification, as summarised"),
    on=chart(
        family=simplex(4, 3),
        base=simplex(4),
        valid=masks(4),
        beta=log_uniform(1e-2, 1e2),
        fraction=uniform(0.01, 1),
    ),
    at_most=(at_smaller_beta, at_beta),
    examples=(
        example(
            family=[".5 .1 .4", ".4 .4 .2"],
            base=".5 .1 .4",
            valid=[True, True, False],
            beta="10",
            fraction=".01",
            lhs="2",
            rhs="1.5691925832142",
        ),
    ),
    note="In the example the member nearest to the base keeps 1.57 of two valid answers; the more valid one,"
    " which a smaller beta chooses, keeps both. What does go one way, in every family, is the pass rate and"
    " the KL to the base: both rise as beta decreases (A10.monotone). Fewer answers are kept in the limit if"
    " Diracs alone are fully valid (A10.collapse); with p_beta in the family no ratio among valid answers"
    " moves (A5.mixture).",
    false=(
        neighbour(
            "by no more than 1.9 answers more",
            at=example(
                family=[".26 .24 .25 .25", ".36 .22 .034 .386", ".0011 .000033 .43 .568867"],
                base=".0024 .0042 .9891 .0043",
                valid=[True, True, True, False],
                beta=".79",
                fraction=".14",
            ),
            rhs=lambda family, base, valid, beta: at_beta(family, base, valid, beta) + 1.9,
        ),
    ),
)
