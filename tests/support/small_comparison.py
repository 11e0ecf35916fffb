"""A small comparison with a loss of prompts, and the files it was read from."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dph_theory.checkpoints import Comparison, compare, read_counts
from support.sampled_counts import base_rates, rows_of, sampled, write_rows


def written(folder: Path) -> list[Path]:
    """Counts of a base and a run that solves much more often, but a third of the prompts no longer."""
    rng = np.random.default_rng(0)
    before = base_rates(rng, 50)
    after = np.where(np.arange(50) % 3 == 0, 0.0, np.minimum(1, before * 1.6))
    pairs = sampled(rng, before, after, 16)
    sides = (("base", pairs.base_n, pairs.base_c), ("run", pairs.run_n, pairs.run_c))
    return [write_rows(folder / f"{name}.jsonl", rows_of(n, c)) for name, n, c in sides]


@cache
def small_comparison() -> Comparison:
    with TemporaryDirectory() as folder:
        base, run = map(read_counts, written(Path(folder)))
    return compare(base, run)
