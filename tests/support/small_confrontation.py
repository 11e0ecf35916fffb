"""A small confrontation with a loss of prompts, and the files it was read from."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dph_theory.counts import Confrontation, confront, matched, read_counts
from dph_theory.counts.kl_and_styles import StyleCounts
from dph_theory.intervals import Estimate
from figures.runs.tables import OwnRun, Runs
from support.sampled_counts import base_rates, rows_of, sampled, write_rows


def written(folder: Path) -> list[Path]:
    """Counts of a base and a run that solves much more often, but a third of the prompts no longer."""
    rng = np.random.default_rng(0)
    before = base_rates(rng, 50)
    after = np.where(np.arange(50) % 3 == 0, 0.0, np.minimum(1, before * 1.6))
    pairs = sampled(rng, before, after, 16).pairs
    sides = (("base", pairs.base_n, pairs.base_c), ("run", pairs.run_n, pairs.run_c))
    return [write_rows(folder / f"{name}.jsonl", rows_of(n, c)) for name, n, c in sides]


@cache
def small_confrontation() -> Confrontation:
    with TemporaryDirectory() as folder:
        base, run = map(read_counts, written(Path(folder)))
    return confront(base, run, matched(base, run), draws=50, power=[(0.1, 4)])


def runs() -> Runs:
    """Two seeds of one label, with styles, and a run of another; all with training logs."""
    found, rates = small_confrontation(), np.linspace(0, 1, 50)
    kinds = StyleCounts(40, 4, Estimate(2, 1.8, 2.2), Estimate(1.5, 1.4, 1.6), Estimate(-0.5, -0.6, -0.4))
    log = tuple({"step": s, "reward": 0.1 * s, "collapse/excess_kl": 0.02 * s} for s in range(1, 6))
    seeds = [OwnRun("GRPO", replace(found, styles=kinds), rates**power, log[: 6 - power]) for power in (1, 2)]
    return Runs(rates, (*seeds, OwnRun("mine", found, rates**3, log)))
