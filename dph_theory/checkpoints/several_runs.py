"""Comparison of several runs, seeds of one method, or steps of one training with one base."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from ..intervals import Estimate, bounded_mean, bounded_means, mean_interval
from ..support.display import Shown
from ..support.errors import argument_error
from ..support.record import Readable
from ..support.table import Cell, Table
from .answers import RunAgreement, answer_codes, one_answer, run_agreement
from .counts import Counts, MatchedRows, matched
from .data_warnings import data_warnings
from .pass_at_k import gaps, shown_ks

_RUNS = 3
"""Fewest runs of which agreement is measured."""


@dataclass(frozen=True, repr=False)
class RunChange(Readable):
    """One of several runs, or of a training's steps.

    Attributes:
        run, step: Name of the run, and the step if it is one of many.
        change: Change of Pass@k at each k.
        lost, gained: Prompts that only the base, or only the run, solves in equally many answers.
    """

    run: str
    step: int | None
    change: tuple[Estimate, ...]
    lost: int
    gained: int


@dataclass(frozen=True, repr=False)
class RunComparison(Shown):
    """Runs compared with one base on the prompts that all have, with a 95% band over all runs and all k.

    Attributes:
        base, prompts, k: Name of the base, number of prompts, and values of k.
        runs: Change of each run.
        mean: Mean of the runs as seeds of one method, each k alone, for other prompts and other seeds
            (`over_seeds`); None unless asked for.
        agreed: Agreement on the correct answers left, for three runs or more with answers.
        notes: Warnings about the data.
    """

    base: str
    prompts: int
    k: tuple[int, ...]
    runs: tuple[RunChange, ...]
    mean: tuple[Estimate, ...] | None = None
    agreed: RunAgreement | None = None
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Say which runs are better and worse at the least and the largest k, and which agree."""
        changes = "; ".join(
            f"at k = {k} better: {self._where(i, 1)}, worse: {self._where(i, -1)}"
            for i, k in enumerate(self.k)
            if i in (0, len(self.k) - 1)
        )
        first = (
            f"{len(self.runs)} against {self.base} on the {self.prompts} prompts of all; with 95% "
            f"confidence, for all of them and all k together, {changes}."
        )
        return "\n".join([first, *self._agreement(), *(f"Note: {note}." for note in self.notes)])

    def _agreement(self) -> Iterator[str]:
        agreement = self.agreed
        if agreement is None or agreement.pairs is None or agreement.own is None:
            return
        yield (
            f"Two runs retain the same correct answer to {agreement.pairs:.3f} of prompts "
            f"(pairs: {agreement.least or 0:.3f} to {agreement.most or 0:.3f})."
        )
        for group in agreement.same:
            yield f"The same on nearly all prompts: {', '.join(self.runs[i].run for i in group)}."

    def _where(self, i: int, sign: int) -> str:
        """Names of the runs with a significant change of this sign at the i-th k, with their steps."""
        of_run: dict[str, list[RunChange]] = {}
        for run in self.runs:
            of_run.setdefault(run.run, []).append(run)
        words = []
        for name, runs in of_run.items():
            steps = [r.step for r in runs if (r.change[i].low if sign > 0 else -r.change[i].high) > 0]
            if steps and steps[0] is None:
                words.append(name)
            elif steps:
                words.append(f"{name} at {len(steps)} of {len(runs)} steps, first at {steps[0]}")
        return ", ".join(words) or "none"

    def to_dataframe(self) -> Any:
        """Return a row for each run, step and k; needs pandas."""
        rows = [(r.run, r.step, k, x) for r in self.runs for k, x in zip(self.k, r.change, strict=True)]
        return Table.from_rows(("run", "step", "k", "change"), rows).to_dataframe()

    def tables(self) -> list[Table]:
        """Tabulate the change of Pass@k at the least and the largest k; the record has all."""
        ends = sorted({0, len(self.k) - 1})
        steps = any(run.step is not None for run in self.runs)
        rows: list[tuple[Cell, ...]] = [
            (r.run, *([r.step] if steps else []), *(r.change[i] for i in ends), r.lost, r.gained)
            for r in self.runs
        ]
        title = "Changes against the base; intervals hold for all runs and all k at once (95%)"
        if self.mean is not None:
            rows.append((f"mean of {len(self.runs)} seeds", *(self.mean[i] for i in ends), None, None))
            title += ", the mean's at each k alone"
        head = ("run", *(["step"] if steps else []), *(f"Pass@{self.k[i]}" for i in ends), "lost", "gained")
        return [Table.from_rows(head, rows, title)]


def compare_runs(
    base: Counts,
    runs: Sequence[tuple[str, int | None, Counts]],
    *,
    ks: Sequence[int] | None = None,
    seeds: bool = False,
    allow_missing: bool = False,
    min_n: int = 1,
    seed: int = 0,
) -> RunComparison:
    """Compare several runs with their base at once, paired by prompt.

    Args:
        base: Counts of the base.
        runs: Name, step (None unless one of a training's), and counts of each run.
        ks: Values of k, by default powers of two up to the fewest answers.
        seeds: True if the runs are seeds of one method, to add their mean.
        allow_missing: True to leave out prompts that one file lacks.
        min_n: Fewest answers to a prompt that is compared.
        seed: Seed of the band.

    Raises:
        ValueError: If the files cannot be paired or share fewer than two prompts, or if seeds are fewer than
            two runs or have steps.

    Example:
        >>> compare_runs(base, [("a", None, one), ("b", None, other)])  # doctest: +SKIP
    """
    steps = any(step is not None for _, step, _ in runs)
    if seeds and (len(runs) < 2 or steps):
        raise argument_error("seeds", len(runs), "two runs or more, without steps")
    both = [matched(base, run, allow_missing=allow_missing, min_n=min_n) for *_, run in runs]
    shared = set.intersection(*({row.id for row in one.base} for one in both))
    if len(shared) < 2:
        raise argument_error("prompts", len(shared), "at least two that all files have")
    masks = [np.array([row.id in shared for row in one.base]) for one in both]
    pairs = [one.counts.chosen(mask) for one, mask in zip(both, masks, strict=True)]
    least = min(one.fewest_answers for one in pairs)
    shown = [k for k in (ks or shown_ks(least)) if k <= least]
    if not shown:
        raise argument_error("k", ks, f"at most {least}: the fewest answers to a prompt of all files")
    rng, gap = np.random.default_rng(seed), np.stack([gaps(one, shown) for one in pairs])
    low, high = bounded_means(np.hstack(list(gap)), rng)
    bounds = zip(gap.mean(axis=1), low.reshape(len(runs), -1), high.reshape(len(runs), -1), strict=True)
    run_changes = []
    for (name, step, _), one, columns in zip(runs, pairs, bounds, strict=True):
        thin = one.thinned(rng)
        before, after = thin.base_c > 0, thin.run_c > 0
        lost, gained = int((before & ~after).sum()), int((after & ~before).sum())
        changes = tuple(Estimate(*map(float, column)) for column in zip(*columns, strict=True))
        run_changes.append(RunChange(name, step, changes, lost, gained))
    mean = tuple(over_seeds(gap[:, :, i], rng) for i in range(len(shown))) if seeds else None
    agreed = None if len(runs) < _RUNS or steps else _agreement_of(both, masks)
    notes = tuple(data_warnings([run for *_, run in runs])) if not steps else ()
    return RunComparison(base.name, len(shared), tuple(shown), tuple(run_changes), mean, agreed, notes)


def _agreement_of(both: Sequence[MatchedRows], masks: Sequence[np.ndarray]) -> RunAgreement | None:
    base = list(compress(both[0].base, masks[0]))
    rows = [list(compress(one.run, mask)) for one, mask in zip(both, masks, strict=True)]
    # Runs cannot differ on questions with one true answer.
    codes = None if one_answer(base) else answer_codes(rows)
    return None if codes is None else run_agreement(codes)


def over_seeds(gap: np.ndarray, rng: np.random.Generator) -> Estimate:
    """Mean of differences (seeds, prompts), with an interval for other prompts and other seeds.

    The sides of an interval over prompts and of one over seeds (Student's t) are squared and added (Zou and
    Donner, Stat. Med. 27, 2008).
    """
    prompts, seeds = bounded_mean(gap.mean(axis=0), rng), mean_interval(gap.mean(axis=1))
    below = np.hypot(prompts.value - prompts.low, seeds.value - seeds.low)
    above = np.hypot(prompts.value - prompts.high, seeds.value - seeds.high)
    return Estimate(prompts.value, prompts.value - float(below), prompts.value + float(above))
