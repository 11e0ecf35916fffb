"""A8, second claim: kappa is the validity-KL Pareto frontier."""

from ..binary_reward import bernoulli_kl, excess_kl, valid_mass
from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, masks, simplex
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import logarithm_bound


def least_cost(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).validity


def cost(policy: Values, base: Values, valid: Values) -> Values:
    return REVERSE_KL(policy, base)


def exchanged(policy: Values, base: Values, valid: Values) -> Values:
    return bernoulli_kl(valid_mass(base, valid), valid_mass(policy, valid))


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
    symbolic=logarithm_bound,
    false_neighbours=(
        neighbour("a frontier 2% higher", lhs=scaled(least_cost, 1.02)),
        neighbour("kl with its arguments exchanged", lhs=exchanged),
    ),
)
