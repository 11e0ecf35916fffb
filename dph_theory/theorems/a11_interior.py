"""A11, second claim: the interior fixed points solve (logit p - logit p_ref) sqrt(p(1-p)) = 1/beta."""

import numpy as np
import sympy

from ..grpo import deviation, grpo_round
from ..numeric.balls import Values, expit, logit
from ..numeric.boxes import Scalar, linear
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import LOG_ODDS, base_of

VALID = np.array([True, False])


def two_outcomes(log_odds: Values) -> Values:
    """The law (p, 1-p) with these log odds, both masses to full relative accuracy."""
    return np.stack([expit(log_odds), expit(-log_odds)], axis=-1)


def fixed_policy(base_rate: Values, rise: Values) -> Values:
    """The policy whose log odds exceed the base's by the rise."""
    return two_outcomes(logit(base_rate) + rise)


def after_a_round(base_rate: Values, rise: Values) -> Values:
    policy = fixed_policy(base_rate, rise)
    beta = 1 / (rise * deviation(policy, VALID))
    return grpo_round(policy, two_outcomes(logit(base_rate)), VALID, beta)


def without_deviation(base_rate: Values, rise: Values) -> Values:
    policy = fixed_policy(base_rate, rise)
    return grpo_round(policy, two_outcomes(logit(base_rate)), VALID, 1 / rise)


def derivation() -> Claims:
    # p is fixed if and only if L = logit p is c + 1/(b s), c = logit p_ref and s^2 = p (1-p) (A11.recursion).
    L, c = sympy.symbols("L c", real=True)
    s, beta = sympy.symbols("s beta", positive=True)
    away = L - (c + 1 / (beta * s))
    yield Claim("s times the distance from it", s * away, equals=(L - c) * s - 1 / beta)


def fixed(log_odds: Scalar, rise: Scalar) -> list[tuple[Scalar, Scalar]]:
    # The gains v - p over beta times the deviation are (1-p) rise and -p rise.
    policy = base_of(log_odds + rise)
    failed = (-log_odds).exp() * (-policy[1] * rise).exp() * (-policy[0] * rise).exp()
    return [(1 / (1 + failed), policy[0]), (failed / (1 + failed), policy[1])]


THEOREM = Theorem(
    name="A11.interior",
    title="p is a fixed point of GRPO at exactly beta = 1/((logit p - logit p_ref) sqrt(p(1-p)))",
    source=Source("mroueh2025grpo", "fixed-reference dynamics"),
    statement=r"p_{n+1} = p_n = p \iff \frac1\beta = (\operatorname{logit} p - \operatorname{logit} p_{ref})"
    r"\sqrt{p(1-p)}",
    relation=Relation.EQUAL,
    lhs=after_a_round,
    rhs=fixed_policy,
    instances=chart(base_rate=rates(), rise=log_uniform(1e-3, 30)),
    expected=Verdict.PROVED,
    given=("A11.recursion",),
    examples=(example(base_rate=".1", rise="2.78"),),
    symbolic=derivation,
    digits=8,  # fewer would round rates near 1 to 1
    reductions=(
        Reduction(
            "all of the chart's scalars",
            {"log_odds": LOG_ODDS, "rise": linear("0.001", "30")},
            lambda log_odds, rise: {"base_rate": base_of(log_odds)[0], "rise": rise},
            sides=fixed,
            tolerance=1e-4,
        ),
    ),
    false_neighbours=(
        neighbour("the fixed point of the un-normalised recursion", lhs=without_deviation),
        neighbour("at a rise 2% larger", rhs=lambda base_rate, rise: fixed_policy(base_rate, 1.02 * rise)),
        near(0.01, rise=(0.49, 0.001)),
    ),
)
