"""Two checkpoints on the same prompts, as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..numeric.arrays import Scalars, first, whole
from ..support.errors import argument_error
from .reading import Counts
from .rows import Row


@dataclass(frozen=True, eq=False)
class Pairs:
    """The prompts that a base and a run were both sampled on, as whole numbers (prompts,)."""

    base_n: np.ndarray
    base_c: np.ndarray
    run_n: np.ndarray
    run_c: np.ndarray

    @classmethod
    def of(cls, base_n: Scalars, base_c: Scalars, run_n: Scalars, run_c: Scalars) -> "Pairs":
        """The pairs of counts that broadcast to one axis; ValueError unless 0 <= c <= n and n >= 1."""
        sides: list[np.ndarray] = []
        for side, n, c in (("base", base_n, base_c), ("run", run_n, run_c)):
            n, c = whole(f"{side}_n", n, at_least=1), whole(f"{side}_c", c, at_least=0)
            n, c = np.broadcast_arrays(n, c)
            if (c > n).any():
                raise argument_error(f"{side}_c", first(c, c > n), "at most n, the number of answers")
            sides += [n, c]
        found = np.broadcast_arrays(*sides)
        if found[0].ndim != 1 or found[0].size == 0:
            raise argument_error("counts.shape", found[0].shape, "one axis of prompts, at least one")
        return cls(*found)

    def __len__(self) -> int:
        """The number of prompts."""
        return len(self.base_n)

    def chosen(self, which: np.ndarray) -> "Pairs":
        """The prompts at these places, or where a mask is true."""
        return Pairs(self.base_n[which], self.base_c[which], self.run_n[which], self.run_c[which])

    @cached_property
    def least(self) -> int:
        """The least number of answers to any prompt on either side."""
        return int(min(self.base_n.min(), self.run_n.min()))

    def thinned(self, rng: np.random.Generator) -> "Pairs":
        """As many answers on both sides: of the more, as many as of the fewer are drawn without replacement.

        Two checkpoints alike then have counts that can be exchanged, so that tests of it are exact.
        """
        n = np.minimum(self.base_n, self.run_n)
        base_c, run_c = (
            np.where(n < had, rng.hypergeometric(c, had - c, n), c)
            for had, c in ((self.base_n, self.base_c), (self.run_n, self.run_c))
        )
        return Pairs(n, base_c, n, run_c)


@dataclass(frozen=True, eq=False)
class Matched:
    """The rows that two files share, in an order that the files' own order does not change."""

    base: tuple[Row, ...]
    run: tuple[Row, ...]
    only_base: int
    only_run: int
    counts: Pairs


def matched(base: Counts, run: Counts, *, allow_missing: bool = False) -> Matched:
    """The prompts of both; ValueError where one file lacks some, unless `allow_missing` counts them."""
    shared = sorted(base.rows.keys() & run.rows.keys(), key=lambda key: (isinstance(key, str), key))
    lacking = [_lacking(run, base.rows, shared), _lacking(base, run.rows, shared)]
    told = [words for words, count in lacking if count]
    if told and not allow_missing:
        raise ValueError(f"{'; '.join(told)}; --allow-missing leaves them out")
    if not shared:
        raise argument_error("files", (base.source, run.source), "at least one prompt in common")
    base_rows, run_rows = (tuple(side.rows[key] for key in shared) for side in (base, run))
    columns = (
        np.array([getattr(r, name) for r in rows]) for rows in (base_rows, run_rows) for name in ("n", "c")
    )
    return Matched(base_rows, run_rows, lacking[0][1], lacking[1][1], Pairs.of(*columns))


def _lacking(here: Counts, there: Mapping[str | int, Row], shared: list[str | int]) -> tuple[str, int]:
    count = len(there) - len(shared)
    example = next((key for key in there if key not in here.rows), None)
    return f"{here.source} lacks {count} of the prompts, such as {str(example)[:60]!r}", count
