"""D3, second claim: with strategies shared by several prompts, pass@1 up implies pass@k up; refuted.

The model: a prompt of type t comes with probability rho_t, the policy draws strategy s with probability
q_s, whatever the type, and then succeeds with probability c_ts, so that p_t = sum_s q_s c_ts.
"""

import numpy as np

from ..coverage import exact_pass_at_k
from ..numeric.balls import highest, lowest, trailing
from ..references import Source
from ..statement.charts import chart, example, integers, log_uniform, simplex, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def rates_of(q, success):
    """p_t = sum_s q_s c_ts, the pass rate on each type; q shared, or one per type."""
    rates = (q * success).sum(axis=-1)
    # Masses that sum to one within rounding may exceed it by an ulp.
    return lowest(np.stack([rates, 1 + 0 * rates], axis=-1))


def pass_at_k(rates, rho, k):
    """pass@k averaged over prompt types."""
    return (rho * exact_pass_at_k(rates, trailing(k, 1))).sum(axis=-1)


def mean_success(rho, success):
    """w_s = sum_t rho_t c_ts, the expected reward of each strategy."""
    return (rho[..., None] * success).sum(axis=-2)


def trained(q, reward, gain):
    """The policy after training by expected reward for that long: q e^{gain reward}, normalised.

    The natural-gradient flow of E_q[reward] (A3), and the optimum at KL weight 1/gain (A4).
    """
    weight = q * np.exp(trailing(gain, 1) * (reward - trailing(highest(reward), 1)))
    return weight / weight.sum(axis=-1, keepdims=True)


def before_training(q, rho, success, k):
    return pass_at_k(rates_of(q[..., None, :], success), rho, k)


def after_training(q, rho, success, k, gain):
    return before_training(trained(q, mean_success(rho, success), gain), rho, success, k)


THEOREM = Theorem(
    name="D3.shared",
    title="Strategies shared by two prompts: training that raises pass@1 never lowers pass@k: refuted",
    source=Source("ours", "shared strategies"),
    statement=r"q_g \propto q\,e^{g w},\; w_s = \sum_t \rho_t c_{ts} \;\Rightarrow\;"
    r" \mathrm{pass@}k(q) \le \mathrm{pass@}k(q_g), \quad"
    r" \mathrm{pass@}k(q) = \sum_t \rho_t \bigl(1 - (1 - \sum_s q_s c_{ts})^k\bigr)",
    relation=Relation.AT_MOST,
    lhs=before_training,
    rhs=after_training,
    instances=chart(
        q=simplex(2),
        rho=simplex(2),
        success=uniform(0, 1, 2, 2),
        k=integers(2, 8),
        gain=log_uniform(1e-2, 1e2),
    ),
    expected=Verdict.REFUTED,
    examples=(example(q=".5 .5", rho=".6 .4", success=["1 0", "0 1"], k=2, gain=10),),
    false_neighbours=(
        neighbour(
            "if every strategy has some chance on every type",
            instances=chart(
                q=simplex(2),
                rho=simplex(2),
                success=uniform(0.05, 1, 2, 2),
                k=integers(2, 8),
                gain=log_uniform(1e-2, 1e2),
            ),
            examples=(),
        ),
        neighbour(
            "for pass@2",
            lhs=lambda q, rho, success, k: before_training(q, rho, success, 2 + 0 * k),
            rhs=lambda q, rho, success, k, gain: after_training(q, rho, success, 2 + 0 * k, gain),
        ),
    ),
    note="A small witness: two types in proportion .6 to .4, two strategies each of which solves one type, "
    "q = (.5, .5). Training moves q to the first strategy: pass@1 rises from .5 to .6 and pass@2 falls "
    "from .75 to .6. With one prompt (D3.single) or a policy of its own per type (D3.conditioned) it holds.",
)
