"""How many styles the correct answers of base and run have, in as many draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..coverage import pass_at_k
from .estimate import Estimate, mean_of
from .rows import Row


@dataclass(frozen=True)
class Styles:
    """Mean over `prompts` of the expected number of different styles in `k` answers that have one."""

    prompts: int
    k: int
    base: Estimate
    run: Estimate
    change: Estimate


def styles(base: Sequence[Row], run: Sequence[Row]) -> Styles | None:
    """The styles of both, unbiased at equal k; None if no prompt has styles on both sides.

    A style seen s times in n answers is among k of them with chance 1 - C(n-s, k)/C(n, k); k is the least n
    of the prompts with at least two such answers on both sides.
    """
    named = [(_counts(b.styles), _counts(r.styles)) for b, r in zip(base, run, strict=True)]
    both = [(b, r) for b, r in named if b.sum() > 1 and r.sum() > 1]
    if not both:
        return None
    k = int(min(min(b.sum(), r.sum()) for b, r in both))
    found = np.array([[pass_at_k(c.sum(), c, k).sum() for c in pair] for pair in both])
    return Styles(
        len(both), k, mean_of(found[:, 0]), mean_of(found[:, 1]), mean_of(found[:, 1] - found[:, 0])
    )


def _counts(styles: Mapping[str, int] | None) -> np.ndarray:
    return np.array(list(styles.values()), dtype=int) if styles else np.zeros(1, dtype=int)
