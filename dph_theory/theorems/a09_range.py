"""A9, second claim: the mean validity lies strictly between E A1 and the share of solvable prompts."""

import numpy as np
import sympy

from ..binary_reward import mean_validity, solvable_share
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, rates
from ..statement.neighbours import rates_clamped
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import GAIN, LOG_ODDS, base_of, solvable_prompt, tilted_law, tilted_odds
from ._lemmas import rates_of_base


def lower_ends(A1: Values, beta: Values) -> Values:
    return np.stack([A1.mean(axis=-1), mean_validity(A1, beta)], axis=-1)


def upper_ends(A1: Values, beta: Values) -> Values:
    return np.stack([mean_validity(A1, beta), solvable_share(A1)], axis=-1)


def below_best_rate(A1: Values, beta: Values) -> Values:
    return np.stack([mean_validity(A1, beta), 2 * A1.mean(axis=-1)], axis=-1)


def one_global_prompt(A1: Values, beta: Values) -> Values:
    return np.stack([A1.mean(axis=-1), mean_validity(A1.mean(axis=-1)[..., None], beta)], axis=-1)


def derivation() -> Claims:
    # A prompt of rate 0 stays at 0 and counts 0 in both ends; each other prompt lies between A1 and 1.
    odds, s = sympy.symbols("odds s", positive=True)
    A1, t = odds / (1 + odds), 1 + s
    mu = odds * t / (1 + odds * t)
    yield Claim("mu > A1 at e^{1/beta} = 1 + s", mu - A1, ">0")
    yield Claim("mu < 1", 1 - mu, ">0")


def rooms(log_odds: Scalar, gain: Scalar) -> list[Scalar]:
    # mu = A1/(A1 + A0 e^-gain), so mu - A1 is A0 times mu (1 - e^-gain).
    valid, _ = tilted_law(log_odds, gain)
    return [valid * (1 - (-gain).exp()), 1 / (1 + tilted_odds(log_odds, gain))]


THEOREM = Theorem(
    name="A9.range",
    title="E A1 < mean validity < P(A1 > 0) for every beta",
    source=Source("ours", "many prompts"),
    statement=r"\mathrm{E}\,A_1 < \mathrm{E}_x\,p_\beta(Y_1|x) < \mathrm{P}(A_1 > 0)",
    relation=Relation.AT_MOST,
    lhs=lower_ends,
    rhs=upper_ends,
    instances=chart(base_rates=rates(3), solvable=masks(3), beta=log_uniform(1e-3, 1e3)).deriving(
        rates_of_base
    ),
    expected=Verdict.PROVED,
    examples=(
        example(base_rates=".1 .3 .6", solvable=[True, True, True], beta=".38622661634118"),
        example(base_rates=".1 .3 .6", solvable=[True, True, False], beta="1e-3"),
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
            factor=lambda log_odds, gain: [base_of(log_odds)[1], tilted_odds(log_odds, gain)],
        ),
    ),
    false_neighbours=(
        neighbour("at most twice E A1", rhs=below_best_rate),
        neighbour("above the validity of one prompt with rate E A1", lhs=one_global_prompt),
        rates_clamped("base_rates", 4e-12, "lhs"),
    ),
)
