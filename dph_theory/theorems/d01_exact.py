"""D1, third claim: the exact pass@k of a prompt set is the mean of 1 - (1-p_x)^k."""

import math
from functools import partial
from typing import Any

import numpy as np

from ..coverage import exact_pass_at_k
from ..numeric.arrays import whole
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, integers, rates
from ..statement.neighbours import rates_clamped
from ..statement.reduction import Reduction
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._boxes import SHARE

MOST_K = 6
BINOMIALS = np.array([[math.comb(k, j) for j in range(MOST_K + 1)] for k in range(MOST_K + 1)])


def chance_of_some_success(p: Values, k: Values) -> Values:
    """P(at least one of k draws passes), by the number j of those that do, averaged over prompts."""
    p, k = p[..., None], whole("k", k, at_least=1)[:, None, None]
    j = np.arange(1, MOST_K + 1)
    possible = np.minimum(j, k)
    mass = BINOMIALS[k, j] * p**possible * (1 - p) ** (k - possible)  # The coefficient is zero for j > k.
    return mass.sum(axis=-1).mean(axis=-1)


def mean_pass_at_k(p: Values, k: Values) -> Values:
    return exact_pass_at_k(p, k[..., None]).mean(axis=-1)


def of_mean_rate(p: Values, k: Values) -> Values:
    return exact_pass_at_k(p.mean(axis=-1), k)


def one_prompt(k: int, p: Scalar) -> dict[str, Any]:
    return {"p": [p], "k": k}


def polynomials(k: int, p: Scalar) -> list[tuple[Scalar, Scalar]]:
    return [(sum(math.comb(k, j) * p**j * (1 - p) ** (k - j) for j in range(1, k + 1)), 1 - (1 - p) ** k)]


THEOREM = Theorem(
    name="D1.exact",
    title="pass@k of a prompt set is the mean over prompts of 1 - (1-p)^k",
    source=Source("chen2021codex", "pass@k"),
    statement=r"\mathrm{pass@}k = \mathrm{E}_x\,\mathrm{P}(\text{some of } k \text{ draws passes})"
    r" = \mathrm{E}_x[1-(1-p_x)^k]",
    relation=Relation.EQUAL,
    lhs=chance_of_some_success,
    rhs=mean_pass_at_k,
    instances=chart(p=rates(3), k=integers(1, MOST_K)),
    expected=Verdict.ENCLOSED,
    examples=(example(p=".1 .3 .6", k=4),),
    digits=8,  # fewer would round rates near 1 to 1
    reductions=tuple(
        Reduction(
            f"one prompt, of which the mean is taken, k = {k}",
            {"p": SHARE},
            partial(one_prompt, k),
            sides=partial(polynomials, k),
        )
        for k in range(1, MOST_K + 1)
    ),
    false_neighbours=(
        neighbour("1 - (1 - mean p)^k, the prompts pooled", rhs=of_mean_rate),
        rates_clamped("p", 5e-12),
    ),
)
