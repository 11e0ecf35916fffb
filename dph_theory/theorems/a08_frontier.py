"""A8, second claim: kappa is the validity-KL Pareto frontier."""

from typing import Any

import sympy

from ..binary_reward import bernoulli_kl, excess_kl, valid_mass
from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import DROP, ODDS, RATE, Law, both_ways, chance, kl_to_first


def least_cost(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).validity


def cost(policy: Values, base: Values, valid: Values) -> Values:
    return REVERSE_KL(policy, base)


def exchanged(policy: Values, base: Values, valid: Values) -> Values:
    return bernoulli_kl(valid_mass(base, valid), valid_mass(policy, valid))


def derivation() -> Claims:
    # KL(q||a) = kappa(q(Y1)) + q(Y1) KL(q(.|Y1)||p_*) + q(Y0) KL(q(.|Y0)||p_0) (A8.decomposition), and both
    # divergences are at least zero (L1.gibbs).
    mass, inside, other, outside = sympy.symbols("mass inside other outside", nonnegative=True)
    yield Claim("the room", mass * inside + other * outside, ">=0")


def two_valid(inner: Law, policy: Law, mu: Scalar, base_rate: Scalar) -> dict[str, Any]:
    return {
        "policy": [mu * policy[0], mu * policy[1], 1 - mu],
        "base": [base_rate * inner[0], base_rate * inner[1], 1 - base_rate],
        "valid": [True, True, False],
    }


THEOREM = Theorem(
    name="A8.frontier",
    title="KL(q||a) >= kappa(q(Y1)), the validity-KL frontier",
    source=Source("ours", "chain rule"),
    statement=r"\mathrm{KL}(q\|a) \ge \kappa(q(Y_1)) = \mathrm{kl}(q(Y_1)\|A_1)",
    relation=Relation.AT_MOST,
    lhs=least_cost,
    rhs=cost,
    instances=chart(policy=simplex(5, zeros=True), base=simplex(5), valid=masks(5)),
    expected=Verdict.PROVED,
    given=("A8.decomposition", "L1.gibbs"),
    tight=True,
    symbolic=derivation,
    reductions=both_ways(
        "two valid outcomes, one invalid: the gap is q(Y1) times their inner divergence",
        {"odds": ODDS, "drop": DROP},
        two_valid,
        gap=lambda odds, drop: [kl_to_first(odds, drop)],
        factor=lambda odds, mu: [mu * chance(odds)],
        zero=("drop", 2),
        free={"mu": RATE, "base_rate": RATE},
    ),
    false_neighbours=(
        neighbour("a frontier 2% higher", lhs=scaled(least_cost, 1.02)),
        neighbour("kl with its arguments exchanged", lhs=exchanged),
        masses_clamped("policy", 5e-6),
    ),
)
