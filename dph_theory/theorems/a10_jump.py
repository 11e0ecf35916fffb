"""A10, fourth claim: the collapse is a jump at a finite beta, where the Dirac ties with its first rival."""

from functools import partial

import numpy as np

from ..numeric.balls import Values, highest, minimisers, normalised
from ..references import Source
from ..restricted import chosen_law, dirac_on_mode, jump, jump_prices, projection, with_diracs
from ..statement.charts import chart, example, log_uniform, masks
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour

STEP = 1e-6
"""Relative distance from the jump at which both sides of it are looked at."""


def minimiser(laws: Values, base: Values, valid: Values, beta: Values) -> Values:
    family = with_diracs(laws)
    return chosen_law(projection(family, base, valid, beta), family)


def before_and_after(laws: Values, base: Values, valid: Values, factor: float = 1) -> Values:
    laws, base = normalised(laws), normalised(base)
    beta = jump(laws, base, valid) * factor
    return np.stack([minimiser(laws, base, valid, beta * (1 + side * STEP)) for side in (-1, 1)], axis=-2)


def dirac_then_rival(laws: Values, base: Values, valid: Values) -> Values:
    laws, base = normalised(laws), normalised(base)
    dirac, invalid = dirac_on_mode(base, valid), dirac_on_mode(base, ~valid)
    prices = jump_prices(laws, base, valid)
    rival = chosen_law(minimisers(-prices), np.concatenate([laws, invalid[..., None, :]], axis=-2))
    return np.stack([dirac, np.where(highest(prices)[..., None] > 0, rival, dirac)], axis=-2)


def half_way(laws: Values, base: Values, valid: Values) -> Values:
    """Both sides equal: the mixture of the two, as if the minimiser moved continuously."""
    return dirac_then_rival(laws, base, valid).sum(axis=-2, keepdims=True) / 2


THEOREM = Theorem(
    name="A10.jump",
    title="The collapse onto a Dirac is a jump, at the beta where the Dirac and its first rival tie",
    source=Source("ours", "indifference of two members"),
    statement=r"\Pi = \{\delta_y\} \cup \{q_1, \ldots, q_n\}:\quad \pi_\beta = \delta_{\arg\max_{Y_1} a}"
    r" \text{ for } \beta < \beta_j,\; \text{the rival for } \beta > \beta_j \text{ near it},\quad"
    r" \beta_j = \min_{\mathrm{KL}(\pi\|a) < K} \frac{1 - \pi(Y_1)}{K - \mathrm{KL}(\pi\|a)},"
    r"\quad K = -\log\max_{Y_1} a",
    relation=Relation.EQUAL,
    lhs=before_and_after,
    rhs=dirac_then_rival,
    # Weights spread evenly, since near the uniform law two modes tie within rounding.
    instances=chart(laws=log_uniform(1e-3, 1, 3, 4), base=log_uniform(1e-3, 1, 4), valid=masks(4)),
    expected=Verdict.CERTIFIED,
    examples=(
        example(laws=[".3 .3 .2 .2", ".6 .2 .1 .1"], base=".3 .2 .1 .4", valid=[True, True, False, False]),
    ),
    false_neighbours=(
        neighbour("a jump 2% later", lhs=partial(before_and_after, factor=1.02)),
        neighbour("no jump: the two laws mix continuously", rhs=half_way),
        near(0.01, base=(0.075, 0.0001)),
    ),
)
