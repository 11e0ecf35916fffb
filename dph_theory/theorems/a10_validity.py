"""A10, first claim: how much validity a restricted family of policies may lose at a finite beta."""

import numpy as np
import sympy

from ..numeric.balls import Values
from ..references import Source
from ..restricted import most_valid, projection, shared_value, validity_and_cost
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled


def lost_and_saved(
    family: Values, base: Values, valid: Values, beta: Values
) -> tuple[Values, Values, Values]:
    """V* - V(pi_b), K* - K(pi_b), and whether pi_b is the most valid member itself."""
    V, K = validity_and_cost(family, base, valid)
    best, chosen = most_valid(V, K), projection(family, base, valid, beta)
    lost, saved = (shared_value(best, x) - shared_value(chosen, x) for x in (V, K))
    return lost, saved, ~np.any(chosen & ~best, axis=-1)


def validity_lost(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    lost, _, same = lost_and_saved(family, base, valid, beta)
    return np.where(same, 0 * lost, lost)


def worth_of_saving(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    _, saved, same = lost_and_saved(family, base, valid, beta)
    # Where pi_b is the most valid member both sides vanish, which balls cannot order: 0 <= 1 stands for it.
    return np.where(same, 1 + 0 * saved, beta * saved)


def derivation() -> Claims:
    # Summed over outcomes: KL(pi||p_b) = K(pi) - V(pi)/b + log Z. Since pi_b minimises it,
    # K(pi_b) - V(pi_b)/b <= K* - V*/b, which is the bound.
    q, a, Z, beta = sympy.symbols("q a Z beta", positive=True)
    for v in (0, 1):
        tilt = a * sympy.exp(v / beta) / Z
        yield Claim(
            f"termwise, v = {v}",
            q * sympy.log(q / tilt) - (q * sympy.log(q / a) - q * v / beta + q * sympy.log(Z)),
        )


THEOREM = Theorem(
    name="A10.validity",
    title="Over any family V* - V(pi_b) <= beta (K* - K(pi_b)), K = KL(pi||a)",
    source=Source("dymetman2026binary", "misspecification"),
    statement=r"\pi_\beta = \arg\min_{\pi\in\Pi} \mathrm{KL}(\pi\|p_\beta):\quad"
    r" V^* - V(\pi_\beta) \le \beta\,(K^* - K(\pi_\beta))",
    relation=Relation.AT_MOST,
    lhs=validity_lost,
    rhs=worth_of_saving,
    instances=chart(
        family=simplex(3, 3, zeros=True), base=simplex(3), valid=masks(3), beta=log_uniform(1e-3, 1e3)
    ),
    expected=Verdict.PROVED,
    examples=(
        example(
            family=["1 0 0 0", "0 1 0 0", "0 0 1 0", "0 0 0 1", ".3 .3 .2 .2"],
            base=".3 .2 .1 .4",
            valid=[True, True, False, False],
            beta=".4",
        ),
    ),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("a bound 2% lower", rhs=scaled(worth_of_saving, 0.98)),
        neighbour("no validity lost at any finite beta", rhs=scaled(worth_of_saving, 0)),
    ),
)
