"""A11, fifth claim: where interior fixed points exist, GRPO converges to the first of them; refuted."""

import numpy as np

from ..grpo import least_rise, next_log_odds
from ..numeric.balls import Values, expit, logit, lowest
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour

ROUNDS, NEWTON_STEPS = 200, 60
CEILING = 60
"""Log odds beyond which validity 1 is reached to 26 digits: runaway iterates stop there."""


def with_fixed_points(base_rate: Values, beta: Values) -> tuple[Values, Values, Values]:
    """Whether there are interior fixed points; logit p_ref and beta, with stand-ins where there are none."""
    exist = least_rise(base_rate, beta) < 0
    return (
        exist,
        logit(np.where(exist, base_rate, 0.1 + 0 * base_rate)),
        np.where(exist, beta, 0.75 + 0 * beta),
    )


def after_rounds(base_rate: Values, beta: Values) -> Values:
    exist, start, beta = with_fixed_points(base_rate, beta)
    log_odds = start
    for _ in range(ROUNDS):
        risen = next_log_odds(start, beta, log_odds)
        log_odds = lowest(np.stack([risen, CEILING + 0 * risen], axis=-1))
    return np.where(exist, expit(log_odds), 0 * beta)


def first_fixed_point(base_rate: Values, beta: Values) -> Values:
    exist, start, beta = with_fixed_points(base_rate, beta)
    log_odds = start
    # Newton from the left on a convex function falling through 0: it rises to the first zero.
    for _ in range(NEWTON_STEPS):
        slope = (np.exp(log_odds / 2) - np.exp(-log_odds / 2)) / (2 * beta) - 1
        log_odds = log_odds - (next_log_odds(start, beta, log_odds) - log_odds) / slope
    return np.where(exist, expit(log_odds), 0 * beta)


THEOREM = Theorem(
    name="A11.convergence",
    title="Where interior fixed points exist, the iterates from p_ref converge to the first one: refuted",
    source=Source("ours", "fixed-reference dynamics"),
    statement=r"\exists\, p^* = p_{n+1} = p_n \in (p_{ref}, 1) \;\Rightarrow\;"
    r" p_n \to p^* \text{ from } p_0 = p_{ref}",
    relation=Relation.EQUAL,
    lhs=after_rounds,
    rhs=first_fixed_point,
    instances=chart(base_rate=rates(low=1e-4, high=0.1), beta=log_uniform(0.3, 30)),
    expected=Verdict.REFUTED,
    examples=(example(base_rate=".1", beta=".75"), example(base_rate=".005", beta="1.8")),
    # Generous, so that slow convergence is not taken for none.
    tolerance=0.05,
    floor=0.05,
    false_neighbours=(
        neighbour(
            "for base rates of at least .1, where the runaway happens",
            instances=chart(base_rate=uniform(0.1, 0.25), beta=log_uniform(0.3, 30)),
            examples=(),
        ),
        neighbour(
            "for beta of at least 1.5, where 2-cycles happen",
            instances=chart(base_rate=rates(low=1e-4, high=0.1), beta=log_uniform(1.5, 30)),
            examples=(),
        ),
    ),
    note="Not guaranteed. At p_ref = .1, beta = .75 (fixed points .64196 and .89376) the first round "
    "already passes both and the iterates run to 1; at p_ref = .005, beta = 1.8 they settle on the 2-cycle "
    "{.017706, .253364}. From p_ref >= 1/2 the claim holds (A11.monotone).",
)
