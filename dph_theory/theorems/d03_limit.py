"""D3, fifth claim: as training proceeds pass@k tends to max_s w_s for every k: more draws gain nothing."""

import numpy as np

from ..numeric.balls import Values, highest, lowest, minimisers, only
from ..references import Source
from ..statement.charts import chart, example, integers, log_uniform, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ..strategies import strategy_rewards, trained_pass_at_k
from ._lemmas import solving


def best_reward(rho: Values, also: Values) -> Values:
    return highest(strategy_rewards(rho, solving(also)))


def leftover(q: Values, rho: Values, also: Values, gain: Values) -> Values:
    """A bound on the mass that training leaves on other strategies than the best, ((1-q)/q) e^{-g gap}."""
    w = strategy_rewards(rho, solving(also))
    best = np.arange(w.shape[-1]) == np.argmax(minimisers(-w), axis=-1)[..., None]
    start = only(q, best).sum(axis=-1)
    others = only(q, ~best).sum(axis=-1)
    gap = lowest(np.where(best, 1 + 0 * w, highest(w)[..., None] - w))
    bound = others / start * np.exp(-gain * gap)
    return lowest(np.stack([bound, 1 + 0 * bound], axis=-1))


def lower_ends(q: Values, rho: Values, also: Values, k: Values, gain: Values) -> Values:
    """w* (1 - d^k), below pass@k after training; and pass@k itself."""
    d, w = leftover(q, rho, also, gain), best_reward(rho, also)
    return np.stack([w * (1 - d**k), trained_pass_at_k(q, rho, solving(also), k, gain)], axis=-1)


def upper_ends(q: Values, rho: Values, also: Values, k: Values, gain: Values) -> Values:
    """pass@k after training; and w* + (1-w*) (1 - (1-d)^k) above it."""
    d, w = leftover(q, rho, also, gain), best_reward(rho, also)
    return np.stack(
        [trained_pass_at_k(q, rho, solving(also), k, gain), w + (1 - w) * (1 - (1 - d) ** k)], axis=-1
    )


def without_draws(q: Values, rho: Values, also: Values, k: Values, gain: Values) -> Values:
    d, w = leftover(q, rho, also, gain), best_reward(rho, also)
    return np.stack([trained_pass_at_k(q, rho, solving(also), k, gain), w + (1 - w) * d], axis=-1)


THEOREM = Theorem(
    name="D3.limit",
    title="Training shared strategies: pass@k tends to max_s w_s for every k, with rates",
    source=Source("ours", "shared strategies"),
    statement=r"c_{ts} \in \{0,1\},\; d = \frac{1-q^*}{q^*}\,e^{-g\,\Delta w}:\quad"
    r" w^*(1-d^k) \le \mathrm{pass@}k(q_g) \le w^* + (1-w^*)\bigl(1-(1-d)^k\bigr),\quad w^* = \max_s w_s",
    relation=Relation.AT_MOST,
    lhs=lower_ends,
    rhs=upper_ends,
    instances=chart(
        q=simplex(3, spread=4),
        rho=simplex(3, spread=4),
        also=integers(0, 1, 3, 3),
        k=integers(1, 8),
        gain=log_uniform(1e-2, 1e3),
    ),
    expected=Verdict.CERTIFIED,
    examples=(example(q=".5 .5", rho=".6 .4", also=["1 0", "0 1"], k=2, gain=10),),
    tight=True,
    false_neighbours=(
        neighbour("the upper bound of a single draw for every k", rhs=without_draws),
        masses_clamped("q", 5e-3),
    ),
)
