"""A9, fourth claim: for each target in the range one beta reaches it, and the library finds that beta."""

import numpy as np

from ..binary_reward import beta_for_mean_validity, beta_from_mu, mean_validity, solvable_share
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, masks, rates, uniform
from ..statement.neighbours import rates_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._lemmas import rates_of_base

WIDTH = 1e-11
"""Relative half-width of the bracket: the root is a float64, and its condition costs some digits."""


def target(A1: Values, position: Values) -> Values:
    """The mean validity at that position of the open interval (E A1, P(A1 > 0))."""
    return (1 - position) * A1.mean(axis=-1) + position * solvable_share(A1)


def root(A1: Values, position: Values) -> Values:
    """The library's beta, a float64, as an exact number of the arithmetic in use."""
    beta = beta_for_mean_validity(A1.astype(float), target(A1, position).astype(float))
    return beta + 0 * position


def at_larger_beta(A1: Values, position: Values) -> Values:
    reached = mean_validity(A1, root(A1, position) * (1 + WIDTH))
    return np.stack([reached, target(A1, position)], axis=-1)


def at_smaller_beta(A1: Values, position: Values) -> Values:
    reached = mean_validity(A1, root(A1, position) * (1 - WIDTH))
    return np.stack([target(A1, position), reached], axis=-1)


def two_percent_off(A1: Values, position: Values) -> Values:
    return np.stack([target(A1, position), mean_validity(A1, root(A1, position) * 1.02)], axis=-1)


def as_one_prompt(A1: Values, position: Values) -> Values:
    beta = beta_from_mu(A1.mean(axis=-1), target(A1, position))
    return np.stack([target(A1, position), mean_validity(A1, beta)], axis=-1)


THEOREM = Theorem(
    name="A9.root",
    title="Every target in (E A1, P(A1 > 0)) has its beta, bracketed from both sides",
    source=Source("ours", "many prompts"),
    statement=r"m \in (\mathrm{E}\,A_1, \mathrm{P}(A_1>0)):\quad"
    r" \mathrm{E}\,p_{\beta(1+h)}(Y_1|x) < m < \mathrm{E}\,p_{\beta(1-h)}(Y_1|x)",
    relation=Relation.AT_MOST,
    lhs=at_larger_beta,
    rhs=at_smaller_beta,
    # The root's condition number grows like 1/(E[mu(1-mu)]/beta): rates near 1 and targets near the ends
    # of the range would leave a float64 root fewer than 11 digits.
    instances=chart(
        base_rates=rates(3, low=1e-9, high=0.02), solvable=masks(3), position=uniform(0.02, 0.98)
    ).deriving(rates_of_base),
    expected=Verdict.CERTIFIED,
    # position 7/10 between E A1 = 1/3 and 1 is the mean validity .8
    examples=(example(base_rates=".1 .3 .6", solvable=[True, True, True], position=".7"),),
    tight=True,
    false_neighbours=(
        neighbour("a beta 2% larger", rhs=two_percent_off),
        neighbour("the beta of one prompt with rate E A1", rhs=as_one_prompt),
        rates_clamped("base_rates", 1.1e-9, "lhs"),
    ),
)
