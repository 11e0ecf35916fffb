"""D3, second claim: with strategies shared by several prompts, pass@1 up implies pass@k up; refuted.

The model: a prompt of type t comes with probability rho_t, the policy draws strategy s with probability
q_s, whatever the type, and then succeeds with probability c_ts, so that p_t = sum_s q_s c_ts.
"""

from ..references import Source
from ..statement.charts import chart, example, integers, log_uniform, simplex, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ..strategies import shared_pass_at_k, trained_pass_at_k

THEOREM = Theorem(
    name="D3.shared",
    title="Strategies shared by two prompts: training that raises pass@1 never lowers pass@k: refuted",
    source=Source("ours", "shared strategies"),
    statement=r"q_g \propto q\,e^{g w},\; w_s = \sum_t \rho_t c_{ts} \;\Rightarrow\;"
    r" \mathrm{pass@}k(q) \le \mathrm{pass@}k(q_g), \quad"
    r" \mathrm{pass@}k(q) = \sum_t \rho_t \bigl(1 - (1 - \sum_s q_s c_{ts})^k\bigr)",
    relation=Relation.AT_MOST,
    lhs=shared_pass_at_k,
    rhs=trained_pass_at_k,
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
            "never by more than 0.2",
            rhs=lambda q, rho, success, k, gain: 0.2 + trained_pass_at_k(q, rho, success, k, gain),
        ),
        neighbour(
            "for pass@2",
            lhs=lambda q, rho, success, k: shared_pass_at_k(q, rho, success, 2 + 0 * k),
            rhs=lambda q, rho, success, k, gain: trained_pass_at_k(q, rho, success, 2 + 0 * k, gain),
        ),
    ),
    note="A small witness: two types in proportion .6 to .4, two strategies each of which solves one type, "
    "q = (.5, .5). Training moves q to the first strategy: pass@1 rises from .5 to .6 and pass@2 falls "
    "from .75 to .6. With one prompt (D3.single) or a policy of its own per type (D3.conditioned) it holds.",
)
