"""`dph figures --runs`: the plates of a user's runs, and aggregates over their seeds."""

from pathlib import Path

import numpy as np

from dph_theory.aggregates import interquartile_mean, probability_of_improvement, stratified_interval
from dph_theory.intervals import Interval

from ..look.theme import look
from ..look.venues import Venue
from ..results.drawings import save
from .inputs import Runs, read_runs
from .plates import PLATES


def draw_runs(
    paths: tuple[Path, ...],
    labels: Path | None,
    prompts: str | None,
    formats: tuple[str, ...],
    folder: Path,
    venue: Venue | None = None,
) -> tuple[list[Path], list[str], list[tuple[str, str, str]]]:
    """Draw what the runs give; the paths written, the plates that had nothing, and rows of aggregates.

    ValueError as `read_runs`.
    """
    runs = read_runs(paths, labels, prompts)
    written: list[Path] = []
    empty = []
    for name, plate in PLATES.items():
        with look(venue):
            drawing = plate(runs)
            if drawing is None:
                empty.append(name)
            else:
                written += save(name, drawing, formats, folder)
    return written, empty, aggregates(runs)


def aggregates(runs: Runs) -> list[tuple[str, str, str]]:
    """For each label the interquartile mean of pass rates, and the chance to beat the base, with intervals.

    Seeds are drawn anew within each prompt, where there are several; prompts are the tasks.
    """
    rng, base = np.random.default_rng(0), runs.base_rates[None]
    rows = []
    for label, group in runs.by_label.items():
        if any(len(run.rates) != len(base[0]) for run in group):
            continue
        table = np.array([run.rates for run in group])
        middle = stratified_interval(interquartile_mean, table, rng=rng, draws=200)
        better = stratified_interval(probability_of_improvement, table, base, rng=rng, draws=200)
        rows.append((label, _told(middle, len(group)), _told(better, len(group))))
    return rows


def _told(found: Interval, seeds: int) -> str:
    value = f"{float(found.mean):.3f}"
    return value if seeds == 1 else f"{value} [{float(found.low):.3f}, {float(found.high):.3f}]"
