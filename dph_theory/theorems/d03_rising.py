"""D3, fourth claim: training shared strategies by expected reward never lowers pass@1."""

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, simplex, uniform
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ..strategies import pass_rates, strategy_rewards, trained
from ._lemmas import reward_rises


def pass_at_1(q: Values, rho: Values, success: Values, gain: Values) -> Values:
    """The expected reward sum_t rho_t p_t of the shared policy after that much training."""
    shared = trained(q, strategy_rewards(rho, success), gain)[..., None, :]
    return (rho * pass_rates(shared, success)).sum(axis=-1)


def later(q: Values, rho: Values, success: Values, gain: Values, more: Values) -> Values:
    return pass_at_1(q, rho, success, gain + more)


def rarest_type(q: Values, rho: Values, success: Values, gain: Values) -> Values:
    """pass@1 on the first type alone."""
    return pass_rates(trained(q, strategy_rewards(rho, success), gain), success[..., 0, :])


THEOREM = Theorem(
    name="D3.rising",
    title="Training shared strategies by expected reward: pass@1 never falls",
    source=Source("ours", "shared strategies"),
    statement=r"q_g \propto q\,e^{g w},\; g < g' \;\Rightarrow\;"
    r" \sum_s q_g(s)\,w_s \le \sum_s q_{g'}(s)\,w_s",
    relation=Relation.AT_MOST,
    lhs=pass_at_1,
    rhs=later,
    instances=chart(
        q=simplex(3),
        rho=simplex(2),
        success=uniform(0, 1, 2, 3),
        gain=log_uniform(1e-2, 1e2),
        more=log_uniform(1e-2, 1e1),
    ),
    expected=Verdict.PROVED,
    given=("L1.rising",),
    examples=(example(q=".5 .5", rho=".6 .4", success=["1 0", "0 1"], gain=1, more=1),),
    symbolic=reward_rises,
    tight=True,
    false_neighbours=(
        neighbour(
            "on each type by itself",
            lhs=rarest_type,
            rhs=lambda q, rho, success, gain, more: rarest_type(q, rho, success, gain + more),
        ),
        masses_clamped("q", 1e-7),
    ),
)
