"""A9, third claim: both ends of the range are approached, as beta -> inf and as beta -> 0."""

import numpy as np
import sympy

from ..binary_reward import mean_validity, solvable_share
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, rates
from ..statement.neighbours import rates_clamped
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import GAIN, LOG_ODDS, base_of, solvable_prompt, tilted_odds
from ._lemmas import rates_of_base


def distances(A1: Values, beta: Values) -> Values:
    mean = mean_validity(A1, beta)
    return np.stack([mean - A1.mean(axis=-1), solvable_share(A1) - mean], axis=-1)


def vanishing(base_rates: Values, solvable: Values, A1: Values, beta: Values) -> Values:
    odds = np.where(solvable, (1 - base_rates) / base_rates, 0 * base_rates)
    return np.stack(
        [np.expm1(1 / beta) * (A1 * (1 - A1)).mean(axis=-1), np.exp(-1 / beta) * odds.mean(axis=-1)], axis=-1
    )


def with_every_prompt(A1: Values, beta: Values) -> Values:
    mean = mean_validity(A1, beta)
    return np.stack([mean - A1.mean(axis=-1), 1 - mean], axis=-1)


def derivation() -> Claims:
    # With t = e^{1/beta} = 1 + s: the first bound vanishes as s -> 0, the second as t -> inf.
    odds, s = sympy.symbols("odds s", positive=True)
    A1, t = odds / (1 + odds), 1 + s
    mu = odds * t / (1 + odds * t)
    yield Claim("mu - A1 <= s A1 A0", s * A1 * (1 - A1) - (mu - A1), ">=0")
    yield Claim("1 - mu <= A0/(A1 t)", 1 / (odds * t) - (1 - mu), ">=0")


def rooms(log_odds: Scalar, gain: Scalar) -> list[Scalar]:
    # With e = e^(1/beta) - 1, mu - A1 is e A1 A0/(1 + A1 e), and 1 - mu is z/(1 + z), z the odds of failure.
    return [1 / ((-log_odds).exp() + gain.exp()), 1 / (1 + tilted_odds(log_odds, gain))]


def squares(log_odds: Scalar, gain: Scalar) -> list[Scalar]:
    valid, invalid = base_of(log_odds)
    return [valid * invalid * (gain.exp() - 1) ** 2, tilted_odds(log_odds, gain) ** 2]


THEOREM = Theorem(
    name="A9.ends",
    title="The mean validity tends to E A1 as beta -> inf and to P(A1 > 0) as beta -> 0, with rates",
    source=Source("ours", "many prompts"),
    statement=r"\mathrm{E}\,p_\beta(Y_1|x) - \mathrm{E}\,A_1 \le (e^{1/\beta}-1)\,\mathrm{E}[A_1 A_0],\quad"
    r" \mathrm{P}(A_1>0) - \mathrm{E}\,p_\beta(Y_1|x) \le e^{-1/\beta}\,\mathrm{E}[A_0/A_1; A_1>0]",
    relation=Relation.AT_MOST,
    lhs=distances,
    rhs=vanishing,
    # Below beta = 2e-3 the bound e^{1/beta} leaves the range of float64.
    instances=chart(base_rates=rates(3), solvable=masks(3), beta=log_uniform(2e-3, 1e3)).deriving(
        rates_of_base
    ),
    expected=Verdict.PROVED,
    examples=(
        example(base_rates=".1 .3 .6", solvable=[True, True, False], beta="1e2"),
        example(base_rates=".1 .3 .6", solvable=[True, True, False], beta=".02"),
    ),
    symbolic=derivation,
    tight=True,
    digits=8,  # fewer would round rates near 1 to 1
    reductions=(
        Reduction(
            "one prompt, of which the mean is taken",
            {"log_odds": LOG_ODDS, "gain": GAIN},
            solvable_prompt,
            gap=rooms,
            factor=squares,
        ),
    ),
    false_neighbours=(
        neighbour("bounds 2% lower", rhs=scaled(vanishing, 0.98)),
        neighbour("tends to 1 although some prompts are never solved", lhs=with_every_prompt),
        rates_clamped("base_rates", 1e-8),
    ),
)
