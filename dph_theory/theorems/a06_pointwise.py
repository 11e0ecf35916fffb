"""A6, first sense: the tilted model converges to the filtered one at every outcome, with a rate."""

from typing import Any

import numpy as np
import sympy

from ..binary_reward import filtered, tilted, valid_mass
from ..numeric.balls import Values, trailing
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import GAIN, LOG_ODDS, SHARE, base_of, tilted_odds


def deviation(base: Values, valid: Values, beta: Values) -> Values:
    return abs(tilted(base, valid, beta) - filtered(base, valid))


def exponential(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(valid_mass(base, ~valid) / valid_mass(base, valid) * np.exp(-1 / beta), 1)


def derivation() -> Claims:
    # By A5.mixture p_b - p_* = (1-mu)(p_0 - p_*), and two masses differ by at most one, so the distance is at
    # most 1 - mu = A0/(A0 + A1 e^(1/b)) < (A0/A1) e^(-1/b), which vanishes as b -> 0.
    x, y = sympy.symbols("x y", nonnegative=True)
    yield Claim("two masses differ by at most one", 1 - sympy.Abs(x - y), ">=0", where=(x <= 1, y <= 1))
    A1, A0, beta = sympy.symbols("A1 A0 beta", positive=True)
    rate = A0 / A1 * sympy.exp(-1 / beta)
    yield Claim("1 - mu is below the rate", rate - A0 / (A0 + A1 * sympy.exp(1 / beta)), ">0")
    yield Claim("the rate vanishes, as it is below (A0/A1) b", A0 / A1 * beta - rate, ">0")


def two_valid(log_odds: Scalar, gain: Scalar, share: Scalar) -> dict[str, Any]:
    valid, invalid = base_of(log_odds)
    base = [valid * share, valid * (1 - share), invalid]
    return {"base": base, "valid": [True, True, False], "beta": 1 / gain}


def room(log_odds: Scalar, gain: Scalar, share: Scalar) -> list[Scalar]:
    # The deviations are share (1-mu), (1 - share) (1-mu) and 1-mu, the bound is (1-mu) (1 + z).
    z = tilted_odds(log_odds, gain)
    return [1 + z - share, z + share, 1 + 0 * z]


def scales(log_odds: Scalar, gain: Scalar) -> list[Scalar]:
    z = tilted_odds(log_odds, gain)
    invalid = 1 - 1 / (1 + z)
    return [invalid, invalid, invalid * z]


THEOREM = Theorem(
    name="A6.pointwise",
    title="As beta -> 0, p_beta -> p_* at every outcome, within (A0/A1) e^(-1/beta)",
    source=Source("dymetman2026binary", "limits"),
    statement=r"|p_\beta(y) - p_*(y)| \le \frac{A_0}{A_1}\, e^{-1/\beta} \to 0 \text{ as } \beta \to 0",
    relation=Relation.AT_MOST,
    lhs=deviation,
    rhs=exponential,
    instances=chart(base=simplex(4), valid=masks(4), beta=log_uniform(1e-2, 1e3)),
    expected=Verdict.PROVED,
    given=("A5.mixture",),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, False, False], beta=".1"),),
    symbolic=derivation,
    tight=True,
    reductions=(
        Reduction(
            "two valid outcomes, one invalid",
            {"log_odds": LOG_ODDS, "gain": GAIN, "share": SHARE},
            two_valid,
            gap=room,
            factor=scales,
        ),
    ),
    false_neighbours=(
        neighbour("a constant 2% smaller", rhs=scaled(exponential, 0.98)),
        neighbour(
            "a rate of e^(-1.02/beta)", rhs=lambda base, valid, beta: exponential(base, valid, beta / 1.02)
        ),
        masses_clamped("base", 2e-6),
    ),
)
