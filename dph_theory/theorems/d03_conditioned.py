"""D3, third claim: a policy that fully conditions on the prompt gains pass@k from training by reward."""

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, integers, log_uniform, simplex, uniform
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claims, Relation, Theorem, Verdict, neighbour
from ..strategies import mean_pass_at_k, pass_rates, strategy_rewards, trained
from ._lemmas import hits_rise, reward_rises


def before(q: Values, rho: Values, success: Values, k: Values) -> Values:
    return mean_pass_at_k(pass_rates(q, success), rho, k)


def after(q: Values, rho: Values, success: Values, k: Values, gain: Values) -> Values:
    """Each type's own policy q_t trained on its own rewards c_t."""
    return before(trained(q, success, gain[..., None]), rho, success, k)


def after_on_mean_reward(q: Values, rho: Values, success: Values, k: Values, gain: Values) -> Values:
    """Each type's own policy trained on the reward averaged over types, as a shared one is."""
    reward = strategy_rewards(rho, success)[..., None, :]
    return before(trained(q, reward, gain[..., None]), rho, success, k)


def derivation() -> Claims:
    # Each type's pass@1 rises with its own gain, and its pass@k with its pass@1.
    yield from reward_rises()
    yield from hits_rise()


THEOREM = Theorem(
    name="D3.conditioned",
    title="A policy of its own per prompt type: training by reward raises pass@k for every k",
    source=Source("ours", "shared strategies"),
    statement=r"q_{t,g} \propto q_t\,e^{g c_t} \;\Rightarrow\;"
    r" \sum_t \rho_t\bigl(1-(1-p_t)^k\bigr) \le \sum_t \rho_t\bigl(1-(1-p_{t,g})^k\bigr)",
    relation=Relation.AT_MOST,
    lhs=before,
    rhs=after,
    instances=chart(
        q=simplex(3, 2),
        rho=simplex(2),
        success=uniform(0, 1, 2, 3),
        k=integers(2, 8),
        gain=log_uniform(1e-2, 1e2),
    ),
    expected=Verdict.PROVED,
    given=("L1.rising",),
    examples=(
        example(q=[".5 .3 .2", ".2 .3 .5"], rho=".6 .4", success=["1 .2 .1", ".1 .2 1"], k=2, gain=10),
    ),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("trained on the mean reward over types", rhs=after_on_mean_reward),
        masses_clamped("q", 5e-6),
    ),
)
