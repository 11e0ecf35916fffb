"""A10, first claim: how much validity a restricted family of policies may lose at a finite beta."""

import numpy as np
import sympy

from ..binary_reward import log_partition, valid_mass
from ..divergences import REVERSE_KL
from ..numeric.balls import trailing, xlogy
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour


def least(values, among=True):
    """Which members (last axis) of those allowed have the least value; several if tied."""
    among = np.broadcast_to(among, values.shape)
    beaten = (values[..., :, None] > values[..., None, :]) & among[..., None, :]
    return among & ~np.any(beaten, axis=-1)


def shared(members, values):
    """The value that the chosen members share, (batch,) from two (batch, members)."""
    return np.where(members, values, 0 * values).sum(axis=-1) / members.sum(axis=-1)


def validity_and_cost(family, base, valid):
    """V(pi) and K(pi) = KL(pi || a) of each member, both (batch, members)."""
    return valid_mass(family, valid[..., None, :]), REVERSE_KL(family, base[..., None, :])


def most_valid(V, K):
    """The member of largest validity V*, of these the one of least cost K*."""
    return least(K, among=least(-V))


def projection(family, base, valid, beta):
    """The member pi_b that minimises KL(pi || p_b) over the family."""
    # In log space, since p_b itself underflows on Y0 where beta is below 1/700.
    gain = np.where(valid, trailing(1 / beta, 1), trailing(0 * beta, 1))
    log_target = np.log(base) + gain - trailing(log_partition(valid_mass(base, valid), beta), 1)
    return least((xlogy(family, family) - family * log_target[..., None, :]).sum(axis=-1))


def lost_and_saved(family, base, valid, beta):
    """V* - V(pi_b), K* - K(pi_b), and whether pi_b is the most valid member itself."""
    V, K = validity_and_cost(family, base, valid)
    best, chosen = most_valid(V, K), projection(family, base, valid, beta)
    lost, saved = (shared(best, x) - shared(chosen, x) for x in (V, K))
    return lost, saved, ~np.any(chosen & ~best, axis=-1)


def validity_lost(family, base, valid, beta):
    lost, _, same = lost_and_saved(family, base, valid, beta)
    return np.where(same, 0 * lost, lost)


def worth_of_saving(family, base, valid, beta):
    _, saved, same = lost_and_saved(family, base, valid, beta)
    # Where pi_b is the most valid member both sides vanish, which balls cannot order: 0 <= 1 stands for it.
    return np.where(same, 1 + 0 * saved, beta * saved)


def derivation():
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
    instances=chart(family=simplex(3, 3), base=simplex(3), valid=masks(3), beta=log_uniform(1e-3, 1e3)),
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
        neighbour(
            "a bound 2% lower",
            rhs=lambda family, base, valid, beta: 0.98 * worth_of_saving(family, base, valid, beta),
        ),
        neighbour(
            "no validity lost at any finite beta",
            rhs=lambda family, base, valid, beta: 0 * worth_of_saving(family, base, valid, beta),
        ),
    ),
)
