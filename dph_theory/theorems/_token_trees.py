"""A base over answers of a few tokens, a verifier of the answers, and its token-by-token filtering."""

from typing import Any

import numpy as np

from ..numeric.elementary import Values
from ..verification.charts import chart, example, log_uniform, masks, simplex

TREES = chart(
    first=simplex(3, spread=2.0), second=simplex(3, 3, spread=2.0), valid=masks(9), beta=log_uniform(0.1, 10)
)
"""A base over two tokens of three symbols, a verifier of the nine answers, and a beta."""
TREE = example(first=".5 .5", second=[".9 .1", ".1 .9"], valid=[[True, False], [True, False]], beta=".5")
"""The first first-token ends valid with .9, the second with .1."""

END = 2
"""The symbol that ends a string: after it only itself follows."""


def string_tables(first: Values, second: Values, third: Values, valid: Values) -> dict[str, Any]:
    """The base's next-token tables, and the rewards of its answers, (batch, 3, 3, 3), none of others."""
    symbols = np.arange(END + 1)
    at_once, later = symbols == END, (symbols[:, None] == END) | (symbols == END)
    tables = [first, _ended(second, at_once), _ended(third, later)]
    after_end = at_once[:, None] & ~at_once
    possible = ~(after_end[:, :, None] | after_end | after_end[:, None, :])
    return {"base": tables, "verdicts": valid.reshape(-1, *possible.shape) & possible}


def _ended(table: Values, ended: Values) -> Values:
    return np.where(ended[..., None], np.where(np.arange(END + 1) == END, 1.0, 0.0), table)


STRINGS = chart(
    first=simplex(3, spread=2.0),
    second=simplex(3, 3, spread=2.0),
    third=simplex(3, 3, 3, spread=2.0),
    valid=masks(27),
    beta=log_uniform(0.1, 10),
).deriving(string_tables)
"""A base over strings of up to three tokens of two symbols and an end, a verifier, and a beta."""
STRING = example(
    first=".5 .4 .1",
    second=[".3 .5 .2", ".6 .2 .2", "1 0 0"],
    third=[[".1 .5 .4", ".7 .1 .2", "1 0 0"], [".4 .4 .2", ".2 .5 .3", "1 0 0"], ["1 0 0"] * 3],
    valid=[(x, y, z).count(0) == 1 for x in range(3) for y in range(3) for z in range(3)],
    beta=".5",
)
"""Strings with the first symbol once are valid."""


def verifier(first: Values, valid: Values) -> Values:
    """The nine rewards in the shape of the tree, (batch, symbols, symbols)."""
    symbols = first.shape[-1]
    return valid.reshape(*valid.shape[:1], symbols, symbols)


def flat(answers: Values) -> Values:
    """Values of answers, or of prefixes, along one last axis."""
    return answers.reshape(len(answers), -1)


def restricted(table: Values, promising: Any) -> tuple[Values, Values]:
    """The table on the promising tokens, normalised, and their mass; rows without one are left alone."""
    mass = np.where(promising, table, 0.0).sum(axis=-1)
    possible = promising.any(axis=-1, keepdims=True)
    mass = np.where(possible[..., 0], mass, 1.0)
    return np.where(promising | ~possible, table / mass[..., None], 0.0), mass


def local_filter(base: list[Values], verdicts: Values) -> tuple[list[Values], list[Values]]:
    """Tables of constrained decoding, and the mass of the tokens retained at each prefix."""
    tables, masses, promising = list[Values](), list[Values](), verdicts
    for table in reversed(base):
        filtered_table, mass = restricted(table, promising)
        tables.insert(0, filtered_table)
        masses.insert(0, mass)
        promising = np.asarray(promising.any(axis=-1))
    return tables, masses
