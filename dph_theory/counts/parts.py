"""What a change of Pass@k is made of: prompts no longer or newly solved, and prompts solved more rarely."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .curves import PassTable
from .estimate import Estimate, mean_of
from .pairs import Pairs


@dataclass(frozen=True)
class Parts:
    """The change of Pass@k, and its two parts, which add up to it.

    `solved_set` is the part of prompts that only one of the two solves at all in its answers: newly solved
    less lost. `narrowing` is the part of prompts that both solve, some more rarely, others more often. Both
    are zero on average if nothing changed.
    """

    k: int
    change: Estimate
    solved_set: Estimate
    narrowing: Estimate


def parts(pairs: Pairs, ks: Sequence[int], rng: np.random.Generator) -> tuple[Parts, ...]:
    """The parts at each k, at most the least number of answers; both sides at equal numbers of answers."""
    pairs = pairs.thinned(rng)
    asked = np.asarray(ks)
    base = PassTable(pairs.base_n, pairs.base_c, asked)
    run = PassTable(pairs.run_n, pairs.run_c, asked)
    changed = (pairs.base_c > 0) != (pairs.run_c > 0)
    found = []
    for i, k in enumerate(ks):
        gap = run.rows(run.place)[:, i] - base.rows(base.place)[:, i]
        only = np.where(changed, gap, 0.0)
        found.append(Parts(int(k), mean_of(gap), mean_of(only), mean_of(gap - only)))
    return tuple(found)


def told_ks(most: int) -> tuple[int, ...]:
    """The k that tables show: powers of two, and the most."""
    return tuple(sorted({2**i for i in range(most.bit_length()) if 2**i <= most} | {most}))
