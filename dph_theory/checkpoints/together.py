"""Several runs, seeds of one method, or steps of one training, against one base, with one band over all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..intervals import LEVEL, Estimate, bounded_mean, bounded_means, mean_of
from ..support.errors import argument_error
from ..support.notebook import Shown
from ..support.record import readable
from ..support.table import Cell, Table
from .answers import Agreed, agreed, coded, independent_prompts, styles_left
from .doubts import doubts
from .pairs import Counts, Matched, Pairs, matched
from .pass_at_k import gaps, told_ks
from .words import chance, percent

_RUNS = 3
"""Of fewer runs it is not told what luck decides."""


@dataclass(frozen=True)
class RunAmong:
    """One of several runs, at a step if it is one of many: the change at each k, prompts lost and gained.

    Lost and gained prompts are those that only the base, or only the run, solves in equal numbers of answers.
    """

    __repr__ = readable

    run: str
    step: int | None
    change: tuple[Estimate, ...]
    lost: int
    gained: int


@dataclass(frozen=True, repr=False)
class Together(Shown):
    """Runs compared with one base, on the prompts that all have, with a 95% band over all of them and all k.

    `mean` is the mean of the runs as seeds of one method, each k alone, about other prompts and other seeds:
    the sides of an interval over prompts, the seeds being given, and of one over seeds (Student's t), squared
    and added (Zou and Donner, Stat. Med. 27, 2008). `agreed`, of three runs or more with answers, shows
    which they are left with; `independent`, as if so many prompts moved by themselves.
    """

    base: str
    prompts: int
    k: tuple[int, ...]
    runs: tuple[RunAmong, ...]
    mean: tuple[Estimate, ...] | None = None
    agreed: Agreed | None = None
    independent: float | None = None
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Which run is better and worse where, at the least k and at the most; what sampling noise did."""
        told = "; ".join(
            f"at k = {k} better: {self._where(i, 1)}, worse: {self._where(i, -1)}"
            for i, k in enumerate(self.k)
            if i in (0, len(self.k) - 1)
        )
        first = (
            f"{len(self.runs)} against {self.base} on the {self.prompts} prompts of all; with 95% "
            f"confidence, for all of them and all k together, {told}."
        )
        return "\n".join([first, *self._agreement(), *(f"Note: {note}." for note in self.notes)])

    def _agreement(self) -> Iterator[str]:
        """Whether the runs are left with the same answers, and whether by luck that is drawn once a run."""
        if self.independent is not None and self.independent < self.prompts / 2:
            yield f"Prompts move together from run to run: as if {self.independent:.1f} were independent."
        found = self.agreed
        if found is None or found.pairs is None or found.own is None:
            return
        yield (
            f"Two runs retain the same correct answer to {percent(found.pairs)} of prompts "
            f"(pairs: {percent(found.least or 0)} to {percent(found.most or 0)})."
        )
        if found.p_varied is not None:
            once = found.p_varied < 1 - LEVEL
            how = f"Pairs differ {'' if once else 'no '}more than if each prompt drew by itself"
            yield f"{how} ({chance(found.p_varied)}){': chance acts once a run' if once else ''}."
        if found.named is not None:
            by_chance = f"{percent(found.named_shuffled or 0)} where runs are shuffled"
            yield f"A run's other prompts name what it keeps on {percent(found.named)} ({by_chance})."
        for group in found.same:
            yield f"The same on nearly all prompts: {', '.join(self.runs[i].run for i in group)}."

    def _where(self, i: int, sign: int) -> str:
        """The runs whose change has this sign, and of a run's steps the first and how many."""
        of_run: dict[str, list[RunAmong]] = {}
        for run in self.runs:
            of_run.setdefault(run.run, []).append(run)
        words = []
        for name, runs in of_run.items():
            told = [r.step for r in runs if (r.change[i].low if sign > 0 else -r.change[i].high) > 0]
            if told:
                steps = f" at {len(told)} of {len(runs)} steps, first at {told[0]}"
                words.append(name if told[0] is None else name + steps)
        return ", ".join(words) or "none"

    def to_dataframe(self) -> Any:
        """A row for each run, step and k; ModuleNotFoundError without pandas."""
        rows = [(r.run, r.step, k, x) for r in self.runs for k, x in zip(self.k, r.change, strict=True)]
        return Table.of(("run", "step", "k", "change"), rows).to_dataframe()

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
        return [Table.of(head, rows, title)]


def together(
    base: Counts,
    runs: Sequence[tuple[str, int | None, Counts]],
    *,
    ks: Sequence[int] | None = None,
    seeds: bool = False,
    allow_missing: bool = False,
    min_n: int = 1,
    draws: int = 4000,
    seed: int = 0,
) -> Together:
    """Compare several runs with their base at once, paired by prompt.

    Parameters: `base`; `runs`, each with a name, and the step where it is one of a training's; `ks`, by
    default powers of two and the least number of answers, beyond which none is given; `seeds`, whether the
    runs are seeds of one method, for their mean; `allow_missing` and `min_n` as `matched` has them; `draws`
    and `seed` of the band. Raises ValueError as `matched` does, or where the files share no prompt, or for
    seeds of fewer than two runs, or with steps.

    >>> together(base, [("a", None, one), ("b", None, other)])  # doctest: +SKIP
    """
    steps = any(step is not None for _, step, _ in runs)
    if seeds and (len(runs) < 2 or steps):
        raise argument_error("seeds", len(runs), "two runs or more, without steps")
    both = [matched(base, run, allow_missing=allow_missing, min_n=min_n) for *_, run in runs]
    shared = set.intersection(*({row.id for row in one.base} for one in both))
    if len(shared) < 2:
        raise argument_error("prompts", len(shared), "at least two that all files have")
    pairs = [one.counts.chosen(np.array([row.id in shared for row in one.base])) for one in both]
    least = min(one.least for one in pairs)
    asked = [k for k in (ks or told_ks(least)) if k <= least]
    if not asked:
        raise argument_error("k", ks, f"at most {least}: the fewest answers to a prompt of all files")
    rng, gap = np.random.default_rng(seed), np.stack([gaps(one, asked) for one in pairs])
    low, high = bounded_means(np.hstack(list(gap)), rng, draws=draws)
    bounds = zip(gap.mean(axis=1), low.reshape(len(runs), -1), high.reshape(len(runs), -1), strict=True)
    found = []
    for (name, step, _), one, columns in zip(runs, pairs, bounds, strict=True):
        thin = one.thinned(rng)
        before, after = thin.base_c > 0, thin.run_c > 0
        lost, gained = (int(those.sum()) for those in (before & ~after, after & ~before))
        changes = tuple(Estimate(*map(float, column)) for column in zip(*columns, strict=True))
        found.append(RunAmong(name, step, changes, lost, gained))
    mean = tuple(over_seeds(gap[:, :, i], rng) for i in range(len(asked))) if seeds else None
    agreed, alone = (None, None) if len(runs) < _RUNS or steps else _luck(both, pairs, shared)
    notes = tuple(doubts([run for *_, run in runs])) if not steps else ()
    return Together(base.name, len(shared), tuple(asked), tuple(found), mean, agreed, alone, notes)


def _luck(
    both: Sequence[Matched], pairs: Sequence[Pairs], shared: set[str | int]
) -> tuple[Agreed | None, float]:
    """What runs are left with, where they have answers, and how many prompts move by themselves."""
    first = [row for row in both[0].base if row.id in shared]
    rows = [[row for row, of in zip(one.run, one.base, strict=True) if of.id in shared] for one in both]
    codes, kinds = coded(rows), coded([first, *rows], styles=True)
    styles = None if kinds is None or codes is None else styles_left(codes, kinds[1:], kinds[:1])
    rates = np.array([one.run_c / one.run_n for one in pairs])
    answers = np.array([one.run_n for one in pairs])
    return None if codes is None else agreed(codes, styles), independent_prompts(rates, answers)


def over_seeds(gap: np.ndarray, rng: np.random.Generator) -> Estimate:
    """The mean of differences (seeds, prompts), over prompts and seeds."""
    prompts, seeds = bounded_mean(gap.mean(axis=0), rng), mean_of(gap.mean(axis=1))
    low, high = (
        np.hypot(prompts.value - getattr(prompts, side), seeds.value - getattr(seeds, side))
        for side in ("low", "high")
    )
    return Estimate(prompts.value, prompts.value - float(low), prompts.value + float(high))
