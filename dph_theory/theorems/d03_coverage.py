"""D3, sixth claim: what training tends to lies below the coverage that the base reaches with many draws."""

import numpy as np

from ..numeric.balls import Values, highest, lowest
from ..references import Source
from ..statement.charts import chart, example, integers, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ..strategies import pass_rates, shared_pass_at_k, strategy_rewards
from ._lemmas import solving


def base_pass_at_k(q: Values, rho: Values, also: Values, k: Values) -> Values:
    return shared_pass_at_k(q, rho, solving(also), k)


def bound_on_hardest(q: Values, also: Values, k: Values) -> Values:
    """1 - (1-m)^k with m the base's pass rate on its hardest type: it tends to 1, since m > 0."""
    return 1 - (1 - lowest(pass_rates(q[..., None, :], solving(also)))) ** k


def trained_and_bound(q: Values, rho: Values, also: Values, k: Values) -> Values:
    """The limit of training for every k; and the bound on the base."""
    return np.stack([highest(strategy_rewards(rho, solving(also))), bound_on_hardest(q, also, k)], axis=-1)


def full_and_base(q: Values, rho: Values, also: Values, k: Values) -> Values:
    """The base's coverage, 1; and its pass@k."""
    base = base_pass_at_k(q, rho, also, k)
    return np.stack([1 + 0 * base, base], axis=-1)


def trained_limit(rho: Values, also: Values) -> Values:
    return highest(strategy_rewards(rho, solving(also)))


THEOREM = Theorem(
    name="D3.coverage",
    title="max_s w_s < 1 = lim_k pass@k of the base, where each type is solved by some strategy, none by all",
    source=Source("ours", "shared strategies"),
    statement=r"\forall t\,\exists s\; c_{ts} = 1,\; \forall s\,\exists t\; c_{ts} = 0:\quad"
    r" \max_s w_s < 1,\qquad \mathrm{pass@}k(q) \ge 1 - (1 - \min_t p_t)^k \to 1",
    relation=Relation.AT_MOST,
    lhs=trained_and_bound,
    rhs=full_and_base,
    instances=chart(
        q=simplex(3, spread=4), rho=simplex(3, spread=4), also=integers(0, 1, 3, 3), k=integers(1, 64)
    ),
    expected=Verdict.CERTIFIED,
    examples=(example(q=".5 .5", rho=".6 .4", also=["1 0", "0 1"], k=2),),
    tight=True,
    false_neighbours=(
        neighbour("the base beats the trained policy at every k", lhs=trained_limit, rhs=base_pass_at_k),
        neighbour(
            "with the average type in place of the hardest",
            lhs=lambda q, rho, also, k: (
                1 - (1 - (rho * pass_rates(q[..., None, :], solving(also))).sum(axis=-1)) ** k
            ),
            rhs=base_pass_at_k,
        ),
        masses_clamped("q", 0.001, "lhs"),
    ),
)
