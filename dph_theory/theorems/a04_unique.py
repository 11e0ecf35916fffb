"""A4, second claim: the tilted model is the unique maximiser, by a margin quadratic in the distance."""

import numpy as np

from ..binary_reward import filtered, log_partition, tilted, valid_mass
from ..divergences import REVERSE_KL, TOTAL_VARIATION
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import tilted_identity


def margin(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return 2 * np.square(TOTAL_VARIATION(policy, tilted(base, valid, beta)))


def loss(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """The maximum less the objective, in units of beta."""
    value = log_partition(valid_mass(base, valid), beta)
    return value - valid_mass(policy, valid) / beta + REVERSE_KL(policy, base)


def margin_around_filtered(policy: Values, base: Values, valid: Values) -> Values:
    return 2 * np.square(TOTAL_VARIATION(policy, filtered(base, valid)))


THEOREM = Theorem(
    name="A4.unique",
    title="The maximiser is p_beta alone: any other policy loses at least 2 beta TV(q, p_beta)^2",
    source=Source("dymetman2026binary", "KL control"),
    statement=r"2\,\mathrm{TV}(q, p_\beta)^2 \le"
    r" \tfrac{1}{\beta} \big(\beta \log Z_\beta - \mathbb{E}_q v + \beta\,\mathrm{KL}(q\|a)\big)",
    relation=Relation.AT_MOST,
    lhs=margin,
    rhs=loss,
    instances=chart(
        policy=simplex(4, spread=8, zeros=True),
        base=simplex(4, spread=8),
        valid=masks(4),
        beta=log_uniform(2e-3, 1e3),
    ),
    expected=Verdict.PROVED,
    # Near an even p_beta the margin is nearly the whole loss.
    examples=(example(policy=".53 .47", base=".5 .5", valid=[True, False], beta="1000"),),
    given=("B4.kl",),
    # The loss is b KL(q||p_b), and that is Pinsker's inequality.
    symbolic=tilted_identity,
    tight=True,
    false_neighbours=(
        neighbour("a margin 2% larger", lhs=scaled(margin, 1.02)),
        neighbour("the maximiser is p_*", lhs=margin_around_filtered),
    ),
)
