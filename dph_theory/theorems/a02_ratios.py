"""A2: which ratios of valid outcomes diverge under the plain policy gradient, and where the others end."""

import numpy as np
import sympy

from ..flows import orbit
from ..numeric.balls import Values, normalised
from ..references import Source
from ..statement.charts import chart, example, integers, masks
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled


def poorer_over_richer(weights: Values, valid: Values, eps: Values) -> Values:
    policy = orbit(normalised(weights), valid, np.full(len(weights), eps))
    return np.where(_pairs(weights, valid), policy[:, None, :] / policy[:, :, None], 0.0)


def limit_of_ratio(weights: Values, valid: Values) -> Values:
    """(1/a_y - 1/a_top)/(1/a_y' - 1/a_top) for y likelier than y': zero, a divergence, iff y is likeliest."""
    top = np.where(valid, weights, 0).max(axis=-1, keepdims=True)
    lack = 1 / weights - 1 / top
    pairs = _pairs(weights, valid)
    return np.where(pairs, lack[:, :, None], 0.0) / np.where(pairs, lack[:, None, :], 1.0)


def ratio_of_base(weights: Values, valid: Values) -> Values:
    return np.where(_pairs(weights, valid), weights[:, None, :] / weights[:, :, None], 0.0)


def _pairs(weights: Values, valid: Values) -> Values:
    return valid[:, :, None] & valid[:, None, :] & (weights[:, :, None] > weights[:, None, :])


def derivation() -> Claims:
    # On the orbit (A2.orbit) q_y' / q_y = (1/a_y - s1)/(1/a_y' - s1), and s1 -> 1/a_top (A2.limit).
    first, second, third, left = sympy.symbols("first second third left", positive=True)
    # 1/a of the likeliest, of a less likely and of a still less likely valid outcome; s1 is `left` from its
    # end.
    top, richer, poorer = first, first + second, first + second + third
    s = top - left
    among, limit = (richer - s) / (poorer - s), second / (second + third)
    yield Claim("among the others: not below the limit", among - limit, ">=0")
    yield Claim("and within left/(second + third) of it", left / (second + third) - (among - limit), ">=0")
    yield Claim("which is positive: no divergence", limit, ">0")
    yield Claim("to the richest: at most left/second", left / second - (top - s) / (richer - s), ">=0")


THEOREM = Theorem(
    name="A2.ratios",
    title="Plain policy gradient: ratios to the likeliest valid output diverge, the others grow to a limit",
    source=Source("ours", "implicit bias"),
    statement=r"y, y' \in Y_1,\; a_y > a_{y'} \;\Rightarrow\; \lim_{t\to\infty} \frac{q_t(y')}{q_t(y)}"
    r" = \frac{1/a_y - 1/a_{top}}{1/a_{y'} - 1/a_{top}}, \quad a_{top} = \max_{Y_1} a",
    relation=Relation.TENDS,
    lhs=poorer_over_richer,
    rhs=limit_of_ratio,
    instances=chart(weights=integers(1, 9, 4), valid=masks(4)),
    expected=Verdict.PROVED,
    given=("A2.orbit", "A2.limit"),
    examples=(example(weights="3 2 1 4", valid=[True, True, True, False]),),
    symbolic=derivation,
    # Ratios up to one are compared absolutely, at eps = 1e-8.
    tolerance=1e-6,
    floor=1.0,
    note="Ratios diverge if and only if one of the two outputs is a likeliest valid one; "
    "between two others the ratio grows, but to a finite limit.",
    false_neighbours=(
        neighbour("every ratio diverges", rhs=scaled(limit_of_ratio, 0)),
        neighbour("the ratios stay", rhs=ratio_of_base),
        near(0.1, weights=((7, 3, 5), 0.2)),
    ),
)
