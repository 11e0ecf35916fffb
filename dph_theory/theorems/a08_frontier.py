"""A8, second claim: kappa is the validity-KL Pareto frontier."""

import sympy

from ..binary_reward import bernoulli_kl, excess_kl, valid_mass
from ..divergences import REVERSE_KL
from ..references import Source
from ..statement.charts import chart, masks, simplex
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour


def least_cost(policy, base, valid):
    return excess_kl(policy, base, valid).validity


def cost(policy, base, valid):
    return REVERSE_KL(policy, base)


def exchanged(policy, base, valid):
    return bernoulli_kl(valid_mass(base, valid), valid_mass(policy, valid))


def derivation():
    # The gap is a sum over outcomes of terms q log(s) with s = (q/Q)/(a/A), and log s >= 1 - 1/s.
    # Summing q (1 - 1/s) over a part gives Q - Q = 0, so the gap is non-negative.
    s = sympy.Symbol("s", positive=True)
    bound = sympy.log(s) - 1 + 1 / s
    yield Claim("log s - (1 - 1/s) is stationary at s = 1", sympy.diff(bound, s).subs(s, 1))
    yield Claim("and vanishes there", bound.subs(s, 1))
    yield Claim("and falls before 1, rises after it", sympy.diff(bound, s) * s**2 / (s - 1) - 1)


THEOREM = Theorem(
    name="A8.frontier",
    title="KL(q||a) >= kappa(q(Y1)), the validity-KL frontier",
    source=Source("ours", "chain rule"),
    statement=r"\mathrm{KL}(q\|a) \ge \kappa(q(Y_1)) = \mathrm{kl}(q(Y_1)\|A_1)",
    relation=Relation.AT_MOST,
    lhs=least_cost,
    rhs=cost,
    instances=chart(policy=simplex(5), base=simplex(5), valid=masks(5)),
    expected=Verdict.PROVED,
    tight=True,
    symbolic=derivation,
    false_neighbours=(
        neighbour(
            "a frontier 2% higher", lhs=lambda policy, base, valid: 1.02 * least_cost(policy, base, valid)
        ),
        neighbour("kl with its arguments exchanged", lhs=exchanged),
    ),
)
