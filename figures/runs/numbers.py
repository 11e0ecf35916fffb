"""What the plates of one's own runs show, as tables: a number a label, with its interval."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dph_theory.aggregates import (
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
    stratified_interval,
)
from dph_theory.counts.estimate import Estimate
from dph_theory.counts.parts import told_ks
from dph_theory.intervals import Interval, mean_interval, probability_interval

from ..look.tables import Cell, Table
from .inputs import Run, Runs

LEVELS = tuple(np.linspace(0, 1, 101)[:-1].tolist())
"""The pass rates at which performance profiles are drawn."""
_MOST_ROWS = 12
_QUOTED = (0.0, 0.25, 0.5, 0.75)
LOGGED: Mapping[str, str] = {"reward": "mean reward", "collapse/excess_kl": "excess KL, nats"}
"""What training curves show of a log."""


def label_estimate(
    group: Sequence[Run],
    value: Callable[[Run], Estimate | float | None],
    interval: Callable[..., Interval] = probability_interval,
) -> Estimate | None:
    """A label's number: of several runs the mean over seeds, of one run its own with its interval, if known.

    None if no run has it.
    """
    found = [one for run in group if (one := value(run)) is not None]
    if not found:
        return None
    if len(found) == 1:
        one = found[0]
        return one if isinstance(one, Estimate) else Estimate(one, -np.inf, np.inf)
    return Estimate(*map(float, interval([one.value if isinstance(one, Estimate) else one for one in found])))


def kept(run: Run) -> Estimate | None:
    """Of the prompts that the base solves, the share that the run keeps."""
    return run.found.kept.kept


def new(run: Run) -> Estimate | None:
    """Of the other prompts, the share that the run newly solves."""
    return run.found.kept.new


def kinds(run: Run) -> Estimate | None:
    """The styles in as many correct answers."""
    return None if run.found.styles is None else run.found.styles.run


def held_out(law: str) -> Callable[[Run], Estimate]:
    """How well a law predicts answers held out."""
    return lambda run: next(line.held_out for line in run.found.laws if line.law == law)


def logs(group: Iterable[Run], key: str) -> tuple[list[float], list[list[float]]]:
    """The steps that all the runs' logs have, and what each of these logged then."""
    found = [[e for e in run.log if key in e and "step" in e] for run in group]
    size = min(len(log) for log in found)
    return [e["step"] for e in found[0][:size]], [[e[key] for e in log[:size]] for log in found]


def pass_at_k(runs: Runs) -> Table:
    """Pass@k at powers of two, and the most."""
    shared = min((run.found.curves for run in runs.runs), key=lambda curves: len(curves.k))
    shown = told_ks(shared.k[-1]) if len(shared.k) > _MOST_ROWS else shared.k
    rows = [
        (k, base, *_by_label(runs, _solved_in(i)))
        for i, (k, base) in enumerate(zip(shared.k, shared.base, strict=True))
        if k in shown
    ]
    return Table.of(("k", "base", *runs.by_label), rows)


def _solved_in(place: int) -> Callable[[Run], float]:
    return lambda run: run.found.curves.run[place]


def kept_and_new(runs: Runs) -> Table:
    """The shares kept and newly solved, and those of an unchanged model."""
    first = runs.runs[0].found.kept
    rows: list[tuple[Cell, ...]] = [("unchanged model", first.kept_unchanged, first.new_unchanged)]
    rows += [
        (label, label_estimate(group, kept), label_estimate(group, new))
        for label, group in runs.by_label.items()
    ]
    return Table.of(("runs", "kept", "newly solved"), rows)


def styles(runs: Runs) -> Table:
    """How many styles there are in as many correct answers."""
    first = next((run.found.styles for run in runs.runs if run.found.styles is not None), None)
    rows: list[tuple[Cell, ...]] = [] if first is None else [("base", first.base)]
    rows += [(label, label_estimate(group, kinds, mean_interval)) for label, group in runs.by_label.items()]
    return Table.of(("runs", f"styles in {first.k} correct answers" if first else "styles"), rows)


def laws(runs: Runs) -> Table:
    """How well each law predicts answers held out."""
    rows = [
        (law, *(label_estimate(group, held_out(law), mean_interval) for group in runs.by_label.values()))
        for law in law_names(runs)
    ]
    return Table.of(("law", *runs.by_label), rows)


def law_names(runs: Runs) -> list[str]:
    """The laws that were held to the runs."""
    return sorted({line.law for run in runs.runs for line in run.found.laws})


def theory(runs: Runs) -> Table:
    """The rates that each run's best law predicts, and those seen."""
    rows = [
        (label, run.found.best_law, one.predicted, one.seen)
        for label, group in runs.by_label.items()
        for run in group
        for one in run.found.calibration
    ]
    return Table.of(("runs", "best law", "rate predicted", "rate seen"), rows)


def training(runs: Runs) -> Table:
    """What was logged at the last step that all seeds have."""
    rows = []
    for label, group in runs.by_label.items():
        found = {key: logs(group, key) for key in LOGGED}
        steps = next((of for of, _ in found.values() if of), None)
        if steps:
            rows.append((label, steps[-1], *(_last(values) for _, values in found.values())))
    return Table.of(("runs", "last step", *LOGGED.values()), rows)


def _last(values: list[list[float]]) -> Cell:
    ends = [log[-1] for log in values if log]
    return _plain(Estimate(*map(float, mean_interval(ends)))) if ends else None


def profiles(runs: Runs) -> Table:
    """The share of prompts above a few pass rates."""
    rows = [
        (level, *performance_profile(runs.base_rates[None], [level]), *_by_label(runs, _above(level)))
        for level in _QUOTED
    ]
    return Table.of(("pass rate above", "base", *runs.by_label), rows)


def _above(level: float) -> Callable[[Run], float]:
    return lambda run: float(performance_profile(run.rates[None], [level])[0])


def aggregates(runs: Runs) -> Table:
    """For each label the interquartile mean of pass rates, and the chance to beat the base.

    Seeds are drawn anew within each prompt, where there are several; prompts are the tasks.
    """
    rng, base = np.random.default_rng(0), runs.base_rates[None]
    rows: list[tuple[Cell, ...]] = []
    for label, group in runs.by_label.items():
        table = np.array([run.rates for run in group])
        middle = stratified_interval(interquartile_mean, table, rng=rng, draws=200)
        better = stratified_interval(probability_of_improvement, table, base, rng=rng, draws=200)
        told = [Estimate(*map(float, found)) for found in (middle, better)]
        rows.append((label, len(group), *(one if len(group) > 1 else one.value for one in told)))
    head = ("runs", "seeds", "interquartile mean of pass rates", "chance to beat the base")
    return Table.of(head, rows)


def _by_label(runs: Runs, value: Callable[[Run], Any]) -> list[Cell]:
    return [_plain(label_estimate(group, value)) for group in runs.by_label.values()]


def _plain(found: Estimate | None) -> Cell:
    """A number whose interval is not known without one."""
    return found.value if found is not None and np.isinf(found.high) else found
