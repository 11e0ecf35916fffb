"""A4, second claim: the tilted model is the unique maximiser, by a margin quadratic in the distance."""

import numpy as np
import sympy

from ..binary_reward import filtered, log_partition, tilted, valid_mass
from ..divergences import REVERSE_KL, TOTAL_VARIATION
from ..references import Source
from ..statement.charts import chart, log_uniform, masks, simplex
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour


def margin(policy, base, valid, beta):
    return 2 * np.square(TOTAL_VARIATION(policy, tilted(base, valid, beta)))


def loss(policy, base, valid, beta):
    """The maximum less the objective, in units of beta."""
    value = log_partition(valid_mass(base, valid), beta)
    return value - valid_mass(policy, valid) / beta + REVERSE_KL(policy, base)


def larger_margin(policy, base, valid, beta):
    return 1.02 * margin(policy, base, valid, beta)


def margin_around_filtered(policy, base, valid):
    return 2 * np.square(TOTAL_VARIATION(policy, filtered(base, valid)))


def derivation():
    # By A4.identity the loss is KL(q||p_b).
    yield from pinsker()


def pinsker():
    """KL(q||p) >= 2 TV(q, p)^2, with equality only at q = p."""
    # Merging the outcomes into {q > p} and the rest keeps TV and does not raise KL (log-sum inequality), so
    # two outcomes suffice. Their gap is zero at p = q, and its slope in p has the sign of p - q (but for
    # p = 1/2 alone, where it may touch zero).
    q, p = sympy.symbols("q p", positive=True)
    gap = q * sympy.log(q / p) + (1 - q) * sympy.log((1 - q) / (1 - p)) - 2 * (q - p) ** 2
    yield Claim("the gap is zero at p = q", gap.subs(p, q))
    square = (1 - 2 * p) ** 2 / (p * (1 - p))
    yield Claim("its slope is p - q times a square", sympy.simplify(sympy.diff(gap, p) - (p - q) * square))


THEOREM = Theorem(
    name="A4.unique",
    title="The maximiser is p_beta alone: any other policy loses at least 2 beta TV(q, p_beta)^2",
    source=Source("dymetman2026binary", "KL control"),
    statement=r"2\,\mathrm{TV}(q, p_\beta)^2 \le"
    r" \tfrac{1}{\beta} \big(\beta \log Z_\beta - \mathbb{E}_q v + \beta\,\mathrm{KL}(q\|a)\big)",
    relation=Relation.AT_MOST,
    lhs=margin,
    rhs=loss,
    instances=chart(
        policy=simplex(4, spread=8), base=simplex(4, spread=8), valid=masks(4), beta=log_uniform(2e-3, 1e3)
    ),
    expected=Verdict.PROVED,
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("a margin 2% larger", lhs=larger_margin),
        neighbour("the maximiser is p_*", lhs=margin_around_filtered),
    ),
)
