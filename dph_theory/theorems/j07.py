"""J7. Truncated answers masked out of the loss.

With the KL in the reward, less the mean of the finished, the masked answers' logits stay, and the sum of the
others': nothing but these constrains how often answers are cut.
"""

import numpy as np

from ..numeric.elementary import Values, only, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import neighbour, theorem

FINISHED = np.arange(5) < 4


def odds(base: Values, valid: Values, beta: Values) -> Values:
    """Finished over cut, where the finished are p_beta and their logits' sum is the base's."""
    mean = trailing(valid.sum(axis=-1), 1) / 4
    pull = np.exp((valid - mean) / trailing(beta, 1))
    return only(base * pull, FINISHED).sum(axis=-1) / base[..., -1]


def unshifted(base: Values, valid: Values, beta: Values) -> Values:
    return only(base * np.exp(valid / trailing(beta, 1)), FINISHED).sum(axis=-1) / base[..., -1]


def by_the_formula(base: Values, valid: Values, beta: Values) -> Values:
    return unshifted(base, valid, beta) * np.exp(-valid.sum(axis=-1) / (4 * beta))


ODDS = theorem(
    "J7.odds",
    "Masked truncation: finished to cut answers tend to Z e^{-k/(n beta)} over the base's mass of the cut",
    statement=r"\frac{\pi(\text{finished})}{\pi(\text{cut})} = \frac{Z e^{-k/(n\beta)}}{a(\text{cut})},"
    r" \quad Z = \sum_{\text{finished}} a e^{v/\beta},\; k \text{ of } n \text{ finished right}",
    source=Source("ours", "what the sampler selects"),
    on=chart(base=simplex(5, spread=4), valid=masks(5), beta=log_uniform(0.1, 10)),
    equal=(odds, by_the_formula),
    examples=(
        example(base=".1 .05 .3 .25 .3", valid=[True] * 2 + [False] * 3, beta=".25", value="3.9426427353991"),
        example(base=".01 .3 .2 .19 .3", valid=[True] + [False] * 4, beta=".25", value="1.5156406121339"),
    ),
    coq="masked_odds",
    note="The base has 2.333: masking can make truncation grow. TRL, whose mean counts the cut answers too,"
    " has another limit with k2 or the corrected k3 in the loss: V = A1 e^{(1-V)/beta} of a decision, odds"
    " 2.134 in the first example.",
    false=(
        neighbour("without the shift", rhs=unshifted),
        neighbour("the base's own", rhs=lambda base: (1 - base[..., -1]) / base[..., -1]),
    ),
)
