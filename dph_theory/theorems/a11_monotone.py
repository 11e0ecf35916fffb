"""A11, sixth claim: from a base rate of at least 1/2 the iterates rise and stay below every fixed point."""

from typing import Any

import numpy as np
import sympy

from ..grpo import next_log_odds
from ..numeric.balls import Values, logit
from ..numeric.boxes import Scalar, linear, logarithmic
from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import base_of

ROUNDS = 2


def iterates(base_rate: Values, rise: Values) -> tuple[list[Values], Values]:
    """The log odds of p_0 = p_ref, p_1, p_2 for the beta that has a fixed point at that rise above p_ref."""
    start = logit(base_rate)
    fixed = start + rise
    beta = (np.exp(fixed / 2) + np.exp(-fixed / 2)) / rise
    path = [start]
    for _ in range(ROUNDS):
        path.append(next_log_odds(start, beta, path[-1]))
    return path, fixed


def before(base_rate: Values, rise: Values) -> Values:
    path, _ = iterates(base_rate, rise)
    return np.stack(path, axis=-1)


def after(base_rate: Values, rise: Values) -> Values:
    path, fixed = iterates(base_rate, rise)
    return np.stack([*path[1:], fixed], axis=-1)


def short_of_it(base_rate: Values, rise: Values) -> Values:
    path, fixed = iterates(base_rate, rise)
    return np.stack([*path[1:], fixed - rise / 50], axis=-1)


def derivation() -> Claims:
    # F(L) = logit p_ref + 2 cosh(L/2)/b rises on L >= 0 and lies above its start: by induction L_n <
    # L_{n+1}, and L_n < L* gives L_{n+1} < F(L*) = L*. A bounded rising sequence converges, and its limit
    # is a fixed point, hence the first (L1.limit).
    more, beta = sympy.symbols("more beta", positive=True)
    c, L = sympy.symbols("c L", nonnegative=True)

    def image(of: sympy.Expr) -> sympy.Expr:
        return c + 2 * sympy.cosh(of / 2) / beta

    yield Claim("F rises on L >= 0", image(L + more) - image(L), ">0")
    yield Claim("F(c) > c", image(c) - c, ">0")


def from_start(start: Scalar, rise: Scalar) -> dict[str, Any]:
    return {"base_rate": base_of(start)[0], "rise": rise}


def steps(start: Scalar, rise: Scalar) -> list[Scalar]:
    # A round leads from L to start + rise cosh(L/2)/cosh(fixed/2); all cosh are over e^(start/2)/2. And
    # e^x + r e^-x - (e^y + r e^-y) = (e^x - e^y) (1 - r e^-(x+y)).
    far, less = (rise / 2).exp(), (-start).exp()
    top = far + less / far
    first = (1 + less) / top
    then = (rise * first / 2).exp()
    beyond = (rise * (far - 1) * (1 - less / far) / top / 2).exp()
    return [
        first,
        (then - 1) * (1 - less / then) / top,
        then * (beyond - 1) * (1 - less / (far * then)) / top,
    ]


THEOREM = Theorem(
    name="A11.monotone",
    title="From p_ref >= 1/2 the validity rises in every round and stays below each interior fixed point",
    source=Source("ours", "monotone iteration"),
    statement=r"p_{ref} \ge \tfrac12,\; p^* \text{ fixed} \;\Rightarrow\; p_n < p_{n+1} < p^*"
    r" \quad (p_0 = p_{ref}), \text{ so } p_n \text{ converges to the first fixed point}",
    relation=Relation.AT_MOST,
    lhs=before,
    rhs=after,
    instances=chart(base_rate=uniform(0.5, 0.999), rise=log_uniform(1e-3, 20)),
    expected=Verdict.PROVED,
    given=("L1.limit",),
    examples=(example(base_rate=".6", rise="1.5"),),
    symbolic=derivation,
    tight=True,
    digits=8,  # fewer would round rates near 1 to 1
    reductions=(
        Reduction(
            "all of the chart's scalars, from a base rate of 1/2",
            {"start": linear("0", "13.82"), "rise": logarithmic("0.01", "20")},
            from_start,
            gap=steps,
            factor=lambda rise: [rise],
        ),
    ),
    false_neighbours=(
        neighbour(
            "from base rates below 1/2 as well",
            instances=chart(base_rate=uniform(0.01, 0.5), rise=log_uniform(1e-3, 20)),
        ),
        neighbour("stays 2% of the rise short of the fixed point", rhs=short_of_it),
        near(-0.01, base_rate=(0.81, 0.0004)),
    ),
)
