"""E1, fourth claim: the validity of the forward KL in closed form."""

from typing import Any

import numpy as np
import sympy
from flint import arb

from ..numeric.balls import Values
from ..numeric.boxes import Scalar, logarithmic
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import LOG_ODDS, base_of


def pull(base_rate: Values, beta: Values) -> Values:
    """(A0/(1-mu) - A1/mu) beta at mu = beta A1/(L-1), 1 - mu = beta A0/L."""
    return _pull(base_rate, beta, 1 - base_rate)


def _pull(base_rate: Values, beta: Values, under_the_root: Values) -> Values:
    root = ((1 + beta) + np.sqrt(np.square(1 + beta) - 4 * beta * under_the_root)) / 2
    # 1 - mu from L - 1 - beta A1 = beta A0 (L-1)/L, which loses no digits.
    mu, failed = beta * base_rate / (root - 1), beta * (1 - base_rate) / root
    return beta * ((1 - base_rate) / failed - base_rate / mu) + (mu + failed - 1)


def one(beta: Values) -> Values:
    return 1 + 0 * beta


def derivation() -> Claims:
    L, A1, b = sympy.symbols("L A1 b", positive=True)
    A0, one = 1 - A1, (A1 < 1,)
    balance = b * (A0 / (b * A0 / L) - A1 / (b * A1 / (L - 1)))
    yield Claim("the balance at mu = b A1/(L-1), 1-mu = b A0/L", balance, equals=1, where=(L > 1, *one))
    # They sum to one: b A1 L + b A0 (L-1) = L (L-1), a quadratic in L with A1 + A0 = 1.
    quadratic = L * (L - 1) - b * A1 * L - b * A0 * (L - 1)
    root = ((1 + b) + sympy.sqrt((1 + b) ** 2 - 4 * b * A0)) / 2
    yield Claim("L is the root of the sum", quadratic.subs(L, root), where=one)
    # The discriminant exceeds (1 - b)^2, so L exceeds 1 and b: both masses are positive.
    yield Claim("the discriminant", (1 + b) ** 2 - 4 * b * A0 - (1 - b) ** 2, equals=4 * b * A1)
    yield Claim("the larger root exceeds one", root - 1, ">0", where=one)


def of_rate(log_odds: Scalar, beta: Scalar) -> dict[str, Any]:
    return {"base_rate": base_of(log_odds)[0], "beta": beta}


def below_one(log_odds: Scalar, beta: Scalar) -> list[tuple[Scalar, Scalar]]:
    """Both sides for beta <= 1, with L - 1 and mu free of differences that cancel."""
    (valid, invalid), rest = base_of(log_odds), 1 - beta
    twice_mu = rest + (rest * rest + 4 * beta * valid).sqrt()
    root, before = beta + twice_mu / 2, 2 * beta * valid / twice_mu
    return [(root - before + twice_mu / 2 + beta * invalid / root - 1, arb(1))]


def above_one(log_odds: Scalar, beta: Scalar) -> list[tuple[Scalar, Scalar]]:
    """Both sides for beta >= 1."""
    (valid, invalid), more = base_of(log_odds), beta - 1
    rest = (more + (more * more + 4 * beta * valid).sqrt()) / 2
    return [(beta * valid / rest + beta * invalid / (1 + rest), arb(1))]


THEOREM = Theorem(
    name="E1.forward",
    title="Forward KL: mu = beta A1/(L-1) with L = [(1+beta) + sqrt((1+beta)^2 - 4 beta A0)]/2",
    source=Source("ours", "laws of training; the target also in gxchen2025kl"),
    statement=r"\mu = \tfrac{\beta A_1}{L-1},\; 1-\mu = \tfrac{\beta A_0}{L}:\quad"
    r" \beta\big(\tfrac{A_0}{1-\mu} - \tfrac{A_1}{\mu}\big) = 1",
    relation=Relation.EQUAL,
    lhs=pull,
    rhs=one,
    instances=chart(base_rate=rates(low=1e-3, high=1e-3), beta=log_uniform(1e-2, 1e2)),
    expected=Verdict.PROVED,
    examples=(example(base_rate=".25", beta="1"),),
    symbolic=derivation,
    reductions=(
        Reduction(
            "beta up to one",
            {"log_odds": LOG_ODDS, "beta": logarithmic("0.01", "1")},
            of_rate,
            sides=below_one,
        ),
        Reduction(
            "beta from one", {"log_odds": LOG_ODDS, "beta": logarithmic("1", "100")}, of_rate, sides=above_one
        ),
    ),
    digits=6,
    false_neighbours=(
        neighbour("4 beta A1 under the root", lhs=lambda base_rate, beta: _pull(base_rate, beta, base_rate)),
        near(0.01, beta=(2.5, 0.007)),
    ),
)
