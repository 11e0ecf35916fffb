"""A10, eleventh claim: the limit over a continuous family, of tokens that cannot see each other."""

from functools import partial

import numpy as np

from ..binary_reward import filtered
from ..numeric.balls import Values, expit, normalised, only, xlogy
from ..references import Source
from ..restricted import dirac_on_mode
from ..statement.charts import chart, example, log_uniform, masks
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ..tokens import independent

STARTS = np.array([(p, q) for p in (0.0, 0.5, 1.0) for q in (0.0, 0.5, 1.0)])
ROUNDS = 40
"""Of minimising over one token's law with the other's fixed."""
LINES = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], dtype=bool)
"""The answers 00, 01, 10, 11 that have one token fixed."""
RECTANGLES = np.concatenate([LINES, np.eye(4, dtype=bool)])


def best_product(base: Values, valid: Values, eps: float) -> Values:
    """The product of two laws of one bit that minimises KL(. || p_beta), beta = eps, by search."""
    base = normalised(base)
    p, q = (np.broadcast_to(column, (len(base), len(STARTS))) for column in STARTS.T)
    score = (np.log(base) + valid / eps).reshape(-1, 1, 2, 2)
    over_second, over_first = score[..., 0, :] - score[..., 1, :], score[..., 0] - score[..., 1]
    for _ in range(ROUNDS):
        p = expit(q * over_second[..., 0] + (1 - q) * over_second[..., 1])
        q = expit(p * over_first[..., 0] + (1 - p) * over_first[..., 1])
    bits = [np.stack([rate, 1 - rate], axis=-1) for rate in (p, q)]
    law, base, valid = independent(*bits), base[:, None], valid[:, None]
    cost = (xlogy(law, law / base)).sum(axis=-1) + only(law, ~valid).sum(axis=-1) / eps
    return law[np.arange(len(law)), np.argmin(cost, axis=-1)]


def likeliest_rectangle(
    base: Values, valid: Values, rectangles: Values = RECTANGLES, more: float = 1.0
) -> Values:
    """The base given the likeliest rectangle of valid answers, the first token's lines weighed by `more`."""
    base = normalised(base)
    inside = ~np.any(rectangles & ~valid[:, None], axis=-1)
    weight = only(base[:, None], rectangles).sum(axis=-1) * np.where(np.arange(len(rectangles)) < 2, more, 1)
    chosen = rectangles[np.argmax(np.where(inside, weight, 0), axis=-1)]
    return filtered(base, chosen)


def product_of_marginals(base: Values, valid: Values) -> Values:
    """The M-projection: the product of the filtered model's own token laws."""
    table = filtered(normalised(base), valid).reshape(-1, 2, 2)
    return independent(table.sum(axis=-1), table.sum(axis=-2))


def mode(base: Values, valid: Values) -> Values:
    return dirac_on_mode(normalised(base), valid)


def filtered_model(base: Values, valid: Values) -> Values:
    return filtered(normalised(base), valid)


THEOREM = Theorem(
    name="A10.product",
    title="Tokens that cannot see each other: beta -> 0 gives the base on the likeliest valid rectangle",
    source=Source("ours", "a compact continuous family"),
    statement=r"\Pi = \{p \otimes q\} \text{ over two bits}:\quad"
    r" \lim_{\beta\to 0} \pi_\beta = a(\cdot|R^*),\;"
    r" R^* = \arg\max\{a(R) : R = A \times B \subseteq Y_1\};"
    r"\text{ a Dirac if no two valid answers share a token}",
    relation=Relation.TENDS,
    lhs=best_product,
    rhs=likeliest_rectangle,
    # No mass far below the others: a bit that hardly varies needs a far smaller beta.
    instances=chart(base=log_uniform(0.05, 1, 4), valid=masks(4)),
    expected=Verdict.HOLDS,
    examples=(
        example(base=".3 .15 .35 .2", valid=[True, False, False, True]),
        example(base=".3 .15 .35 .2", valid=[True, True, True, False]),
    ),
    certified=False,
    ladder=(1e-2, 1e-3, 1e-4),
    false_neighbours=(
        neighbour("the filtered model", rhs=filtered_model),
        neighbour("the Dirac on the base's mode in Y1", rhs=mode),
        neighbour("the product of the filtered model's token laws", rhs=product_of_marginals),
        neighbour(
            "a fixed first token preferred until it is 1% less likely",
            rhs=partial(likeliest_rectangle, more=1.01),
        ),
    ),
    note="The fully valid members are the laws on rectangles A x B of valid answers, for two bits a single"
    " answer or a line; V* = 1 first, then K* = -log a(R*). With 00 and 11 valid (the tokens must agree) only"
    " Diracs are left: this continuous family collapses as A10.collapse says of a finite one.",
)
