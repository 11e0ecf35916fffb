"""A base and runs on the same prompts, and what their figures show as tables: a number a label."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory.counts import Confrontation, confront, matched, read_counts
from dph_theory.counts.pass_at_k import told_ks
from dph_theory.counts.reading import distinct_names
from dph_theory.intervals import (
    Estimate,
    Interval,
    interquartile_mean,
    mean_interval,
    performance_profile,
    probability_interval,
    probability_of_improvement,
    stratified_interval,
)
from dph_theory.support.errors import argument_error
from dph_theory.support.table import Cell, Table

_DRAWS = 1000
_TRAINING = "training.json"


@dataclass(frozen=True)
class OwnRun:
    """A run held against the base: its label, its rate on each prompt, its training log if there is one."""

    label: str
    found: Confrontation
    rates: np.ndarray
    log: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Runs:
    """The runs, in the order given, and the base's rate on each prompt of the first of them."""

    base_rates: np.ndarray
    runs: tuple[OwnRun, ...]

    @cached_property
    def by_label(self) -> dict[str, tuple[OwnRun, ...]]:
        """The runs of each label."""
        labels = dict.fromkeys(run.label for run in self.runs)
        return {label: tuple(run for run in self.runs if run.label == label) for label in labels}

    @property
    def hashes(self) -> dict[str, str]:
        """The SHA-256 of each input file, by its name."""
        sources = [self.runs[0].found.base, *(run.found.run for run in self.runs)]
        return {source.name: source.sha256 for source in sources}


def read_runs(paths: Sequence[Path], labels: Path | None = None, prompts: str | None = None) -> Runs:
    """Read the base, which comes first, and the runs; files or folders as `read_counts` takes them.

    `labels` is a YAML file of labels by the name of a file or folder, else that name is the label, with as
    many folders as tell it from the others: runs are seeds only where labels say so. ValueError
    for fewer than two paths, files that cannot be read or paired, or a label of what is not there.
    """
    if len(paths) < 2:
        raise argument_error("runs", [str(path) for path in paths], "a base and at least one run")
    named = _labels(labels, {*(path.name for path in paths), *distinct_names(paths)})
    names = distinct_names(paths)
    base = replace(read_counts(paths[0], prompts=prompts), called=names[0])
    runs: list[OwnRun] = []
    for path, name in zip(paths[1:], names[1:], strict=True):
        counts = replace(read_counts(path, prompts=prompts), called=name)
        both = matched(base, counts)
        found = confront(base, counts, both, draws=_DRAWS)
        rates = both.counts.run_c / both.counts.run_n
        # Of one name are seeds only those that the labels say are.
        label = named.get(name) or named.get(path.name) or name.removesuffix("".join(path.suffixes[-1:]))
        runs.append(OwnRun(label, found, rates, _log(path)))
    return Runs(both.counts.base_c / both.counts.base_n, tuple(runs))


def _labels(path: Path | None, names: set[str]) -> dict[str, str]:
    if path is None:
        return {}
    import yaml

    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise argument_error("labels", str(path), f"YAML ({error})") from error
    if not isinstance(read, dict) or not all(isinstance(label, str) for label in read.values()):
        raise argument_error("labels", str(path), "a label by name of file or folder")
    unknown = [name for name in read if name not in names]
    if unknown:
        raise argument_error("labels", unknown[0], f"one of {', '.join(sorted(names))}")
    return read


def _log(path: Path) -> tuple[Mapping[str, Any], ...]:
    """The log of a folder that `dph train` wrote."""
    file = path / _TRAINING
    if not file.is_file():
        return ()
    return tuple(json.loads(file.read_text(encoding="utf-8"))["results"]["log"])


LEVELS = tuple(np.linspace(0, 1, 101)[:-1].tolist())
"""The pass rates at which performance profiles are drawn."""
_MOST_ROWS = 12
_QUOTED = (0.0, 0.25, 0.5, 0.75)
LOGGED: Mapping[str, str] = {"reward": "mean reward", "collapse/excess_kl": "excess KL, nats"}
"""What training curves show of a log."""
_RATES = ("reward",)
"""Of these, what is a rate as long as verdicts alone are rewarded."""


def label_estimate(
    group: Sequence[OwnRun],
    value: Callable[[OwnRun], Estimate | float | None],
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
    values = [one.value if isinstance(one, Estimate) else one for one in found]
    over = Estimate(*map(float, interval(values)))
    # Seeds that tie tell nothing of how far others would lie.
    return over if np.ptp(values) else Estimate(over.value, -np.inf, np.inf)


def kept(run: OwnRun) -> Estimate | None:
    """Of the prompts that the base solves, the share that the run keeps."""
    return run.found.kept.kept


def new(run: OwnRun) -> Estimate | None:
    """Of the other prompts, the share that the run newly solves."""
    return run.found.kept.new


def kinds(run: OwnRun) -> Estimate | None:
    """The styles in as many correct answers."""
    return None if run.found.styles is None else run.found.styles.run


def held_out(law: str) -> Callable[[OwnRun], Estimate | None]:
    """How well a law predicts answers held out."""
    return lambda run: next((line.held_out for line in run.found.laws if line.law == law), None)


def logs(group: Iterable[OwnRun], key: str) -> tuple[list[float], list[list[float]]]:
    """The steps that all the runs' logs have, and what each of these logged then."""
    found = [[e for e in run.log if key in e and "step" in e] for run in group]
    size = min(len(log) for log in found)
    return [e["step"] for e in found[0][:size]], [[e[key] for e in log[:size]] for log in found]


def pass_at_k(runs: Runs) -> Table:
    """Pass@k at powers of two, and the most."""
    shared = min((run.found.curves for run in runs.runs), key=lambda curves: len(curves.k))
    shown = told_ks(shared.k[-1]) if len(shared.k) > _MOST_ROWS else shared.k
    rows = [
        # As words, k names the commands of its row.
        (str(k), base, *_by_label(runs, _solved_in(i)))
        for i, (k, base) in enumerate(zip(shared.k, shared.base, strict=True))
        if k in shown
    ]
    return Table.of(("k", "base", *runs.by_label), rows)


def _solved_in(place: int) -> Callable[[OwnRun], float]:
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
    """The laws that were held to the runs, the best on their mean first."""
    scores: dict[str, list[float]] = {}
    for run in runs.runs:
        for line in run.found.laws:
            scores.setdefault(line.law, []).append(line.held_out.value)
    return sorted(scores, key=lambda law: -float(np.mean(scores[law])))


def training(runs: Runs) -> Table:
    """What was logged at the last step that all seeds have."""
    rows = []
    for label, group in runs.by_label.items():
        found = {key: logs(group, key) for key in LOGGED}
        steps = next((of for of, _ in found.values() if of), None)
        if steps:
            rows.append((label, steps[-1], *(_last(key, values) for key, (_, values) in found.items())))
    return Table.of(("runs", "last step", *LOGGED.values()), rows)


def logged_interval(key: str, values: Any) -> Interval:
    """The mean over seeds with its interval, within [0, 1] where what was logged is a rate."""
    rate = key in _RATES and all(0 <= one <= 1 for one in np.ravel(values))
    return (probability_interval if rate else mean_interval)(values)


def _last(key: str, values: list[list[float]]) -> Cell:
    ends = [log[-1] for log in values if log]
    return _plain(Estimate(*map(float, logged_interval(key, ends)))) if ends else None


def profiles(runs: Runs) -> Table:
    """The share of prompts above a few pass rates."""
    rows = [
        (f"{level:g}", *performance_profile(runs.base_rates[None], [level]), *_by_label(runs, _above(level)))
        for level in _QUOTED
    ]
    return Table.of(("pass rate above", "base", *runs.by_label), rows)


def _above(level: float) -> Callable[[OwnRun], float]:
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


def _by_label(runs: Runs, value: Callable[[OwnRun], Any]) -> list[Cell]:
    return [_plain(label_estimate(group, value)) for group in runs.by_label.values()]


def _plain(found: Estimate | None) -> Cell:
    """A number whose interval is not known without one."""
    return found.value if found is not None and np.isinf(found.high) else found
