"""A3, first claim: v - V is the natural gradient of the expected reward."""

import numpy as np
import sympy

from ..binary_reward import valid_mass
from ..estimators import reward_gradient
from ..numeric.balls import Values, is_ball, trailing
from ..references import Source
from ..statement.charts import chart, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def fisher_times_field(policy: Values, valid: Values) -> Values:
    """E_q[score (score . (v - V))], the Fisher information applied to v - V."""
    return _fisher_times(policy, valid - trailing(valid_mass(policy, valid), 1))


def fisher_times_plain(policy: Values, valid: Values) -> Values:
    return _fisher_times(policy, reward_gradient(policy, valid))


def _fisher_times(policy: Values, direction: Values) -> Values:
    outcomes = policy.shape[-1]
    # Row y is the score of outcome y in logits, its indicator less q.
    score = np.eye(outcomes, dtype=int if is_ball(policy) else float) - policy[:, None, :]
    along = (score * direction[:, None, :]).sum(axis=-1)
    return (trailing(policy * along, 1) * score).sum(axis=-2)


def plain_gradient(policy: Values, valid: Values) -> Values:
    return reward_gradient(policy, valid)


def derivation() -> Claims:
    # F = diag(q) - q q', so (F (v - V))_y = q_y (v_y - V) - q_y sum q (v - V), and the sum, over parts of the
    # masses V and W with V + W = 1, is zero.
    q, v, V, W = sympy.symbols("q v V W", real=True)
    mean = V * (1 - V) + W * (0 - V)
    yield Claim("sum q (v - V) is zero at W = 1 - V", mean, equals=V * (1 - V - W))
    image = q * (v - V) - q * V * (1 - V - W)
    yield Claim("F (v - V) is the plain gradient q (v - V)", image.subs(W, 1 - V), equals=q * (v - V))


THEOREM = Theorem(
    name="A3.field",
    title="v - V is the natural gradient of E_q v: the Fisher matrix maps it to the plain gradient",
    source=Source("ours", "natural gradient"),
    statement=r"F\,(v - V) = \nabla_\theta\, \mathbb{E}_q v, \quad F = \mathrm{diag}(q) - q q^\top",
    relation=Relation.EQUAL,
    lhs=fisher_times_field,
    rhs=plain_gradient,
    instances=chart(policy=simplex(4, zeros=True), valid=masks(4)),
    expected=Verdict.PROVED,
    symbolic=derivation,
    false_neighbours=(
        neighbour("the plain gradient is its own natural gradient", lhs=fisher_times_plain),
        near(0.01, policy=(0.25, 5e-05)),
    ),
)
