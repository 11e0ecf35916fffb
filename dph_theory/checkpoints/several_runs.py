"""Several runs, seeds of one method, or steps of one training, against one base, with one band over all."""

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
"""Of fewer runs it is not said what sampling noise decides."""


@dataclass(frozen=True, repr=False)
class RunChange(Readable):
    """One of several runs, at a step if it is one of many: the change at each k, prompts lost and gained.

    Lost and gained prompts are those that only the base, or only the run, solves in equal numbers of answers.
    """

    run: str
    step: int | None
    change: tuple[Estimate, ...]
    lost: int
    gained: int


@dataclass(frozen=True, repr=False)
class RunComparison(Shown):
    """Runs compared with one base, on the prompts that all have, with a 95% band over all of them and all k.

    `mean` is the mean of the runs as seeds of one method, each k alone, about other prompts and other seeds:
    the sides of an interval over prompts, the seeds being given, and of one over seeds (Student's t), squared
    and added (Zou and Donner, Stat. Med. 27, 2008). `agreed`, of three runs or more with answers, shows
    which they are left with.
    """

    base: str
    prompts: int
    k: tuple[int, ...]
    runs: tuple[RunChange, ...]
    mean: tuple[Estimate, ...] | None = None
    agreed: RunAgreement | None = None
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Which run is better and worse where, at the least k and at the most; what sampling noise did."""
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
        """True if the runs are left with the same answers."""
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
        """The runs whose change has this sign, and of a run's steps the first and how many."""
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
        """A row for each run, step and k; ModuleNotFoundError without pandas."""
        rows = [(r.run, r.step, k, x) for r in self.runs for k, x in zip(self.k, r.change, strict=True)]
        return Table.from_rows(("run", "step", "k", "change"), rows).to_dataframe()

    def tables(self) -> list[Table]:
        """The change of Pass@k at the least and the most k; the record has all."""
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

    Parameters: `base`; `runs`, each with a name, and the step where it is one of a training's; `ks`, by
    default powers of two and the least number of answers, beyond which none is given; `seeds`, whether the
    runs are seeds of one method, for their mean; `allow_missing` and `min_n` as `matched` has them; `seed`
    of the band. Raises ValueError as `matched` does, or where the files share no prompt, or for
    seeds of fewer than two runs, or with steps.

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
    """Which correct answers the runs are left with, where they have answers and prompts a choice."""
    base = list(compress(both[0].base, masks[0]))
    rows = [list(compress(one.run, mask)) for one, mask in zip(both, masks, strict=True)]
    # Runs cannot differ on questions with one true answer.
    codes = None if one_answer(base) else answer_codes(rows)
    return None if codes is None else run_agreement(codes)


def over_seeds(gap: np.ndarray, rng: np.random.Generator) -> Estimate:
    """The mean of differences (seeds, prompts), over prompts and seeds."""
    prompts, seeds = bounded_mean(gap.mean(axis=0), rng), mean_interval(gap.mean(axis=1))
    below = np.hypot(prompts.value - prompts.low, seeds.value - seeds.low)
    above = np.hypot(prompts.value - prompts.high, seeds.value - seeds.high)
    return Estimate(prompts.value, prompts.value - float(below), prompts.value + float(above))
