"""D3, third claim: a policy that fully conditions on the prompt gains pass@k from training by reward."""

import sympy

from ..references import Source
from ..statement.charts import chart, example, integers, log_uniform, simplex, uniform
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour
from .d03_shared import mean_success, pass_at_k, rates_of, trained
from .d03_single import derivation as rises_with_pass_at_1


def before(q, rho, success, k):
    return pass_at_k(rates_of(q, success), rho, k)


def after(q, rho, success, k, gain):
    """Each type's own policy q_t trained on its own rewards c_t."""
    return before(trained(q, success, gain[..., None]), rho, success, k)


def after_on_mean_reward(q, rho, success, k, gain):
    """Each type's own policy trained on the reward averaged over types, as a shared one is."""
    reward = mean_success(rho, success)[..., None, :]
    return before(trained(q, reward, gain[..., None]), rho, success, k)


def reward_rises():
    """d/dg of the mean of w under q_g ~ q e^{gw} is its variance, a sum over pairs of strategies."""
    g, *rewards = sympy.symbols("g w1 w2 w3", real=True)
    masses = [
        q * sympy.exp(g * w) for q, w in zip(sympy.symbols("q1 q2 q3", positive=True), rewards, strict=True)
    ]
    total = sum(masses)
    mean = sum(m * w for m, w in zip(masses, rewards, strict=True)) / total
    pairs = sum(masses[i] * masses[j] * (rewards[i] - rewards[j]) ** 2 for i in range(3) for j in range(i))
    yield Claim(
        "three strategies: d/dg E w = sum over pairs of q q' (w - w')^2",
        sympy.together(sympy.diff(mean, g) * total**2 - pairs),
    )
    yield Claim("which is non-negative", pairs, ">=0")


def derivation():
    # Each type's pass@1 rises with its own gain, and its pass@k with its pass@1.
    yield from reward_rises()
    yield from rises_with_pass_at_1()


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
    examples=(
        example(q=[".5 .3 .2", ".2 .3 .5"], rho=".6 .4", success=["1 .2 .1", ".1 .2 1"], k=2, gain=10),
    ),
    symbolic=derivation,
    tight=True,
    false_neighbours=(neighbour("trained on the mean reward over types", rhs=after_on_mean_reward),),
)
