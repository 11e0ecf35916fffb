"""E1, fifth claim: Pearson's chi-squared moves the validity linearly, and leaves no failure below A1/2."""

from functools import partial

import numpy as np

from ..divergences import CHI_SQUARED
from ..numeric.balls import Values, lowest
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.reduction import Reduction
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import ODDS, RATE, SHARE, chance


def objective(base_rate: Values, beta: Values, mu: Values) -> Values:
    cost = CHI_SQUARED(np.stack([mu, 1 - mu], axis=-1), np.stack([base_rate, 1 - base_rate], axis=-1))
    return mu - beta * cost


def at_the_law(base_rate: Values, beta: Values, halves: int = 2) -> Values:
    mu = base_rate + (1 - base_rate) * base_rate / (halves * beta)
    return objective(base_rate, beta, lowest(np.stack([mu, 1 + 0 * mu], axis=-1)))


def at(odds: Scalar, beta: Scalar, mu: Scalar) -> dict[str, Scalar]:
    return {"base_rate": chance(odds), "beta": beta, "mu": mu}


def square(odds: Scalar, mu: Scalar, b: Scalar) -> list[Scalar]:
    base_rate = chance(odds)
    return [(mu - base_rate - (1 - base_rate) * b) ** 2 / (2 * (1 - base_rate))]


THEOREM = Theorem(
    name="E1.pearson",
    title="Pearson: mu = min(1, A1 + A0 A1/(2 beta)), without a failure from beta = A1/2 down",
    source=Source("ours", "laws of training"),
    statement=r"\arg\max_m\, m - \beta \chi^2(m\|A_1) = \min\big(1, A_1 + \tfrac{A_0 A_1}{2\beta}\big)",
    relation=Relation.AT_MOST,
    lhs=objective,
    rhs=at_the_law,
    instances=chart(
        base_rate=rates(low=1e-3, high=1e-3), beta=log_uniform(1e-2, 10), mu=rates(low=1e-6, high=1e-6)
    ),
    expected=Verdict.ENCLOSED,
    examples=(example(base_rate=".25", beta=".5", mu=".3"), example(base_rate=".25", beta=".1", mu=".9")),
    digits=9,
    floor=1.0,
    reductions=(
        Reduction(
            "failures are left, beta = A1/(2b) with b < 1: the square is completed",
            {"odds": ODDS, "b": SHARE, "mu": RATE},
            lambda odds, b, mu: at(odds, chance(odds) / (2 * b), mu),
            gap=lambda odds, b, mu: [1 / b],
            factor=square,
        ),
        Reduction(
            "none is left, beta = A1 b/2 with b < 1",
            {"odds": ODDS, "b": SHARE, "failed": RATE},
            lambda odds, b, failed: {
                "base_rate": chance(odds),
                "beta": chance(odds) * b / 2,
                "mu": 1 - failed,
            },
            gap=lambda odds, b, failed: [1 - b + b * failed * (1 + odds) / 2],
            factor=lambda failed: [failed],
        ),
    ),
    false_neighbours=(
        neighbour("A0 A1/beta, as if f were (u-1)^2/2", rhs=partial(at_the_law, halves=1)),
        neighbour("a left side 0.00005% larger", lhs=scaled(objective, 1 + 5e-7)),
    ),
)
