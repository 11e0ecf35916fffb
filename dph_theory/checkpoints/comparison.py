"""Everything that counts show of a run against its base, as one value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..support.display import Shown
from ..support.table import Table
from .answers import AnswersLeft, answers_left
from .counts import Counts, MatchedRows, matched
from .data_warnings import data_warnings
from .kl import KlSpent, kl_spent
from .measures import Measure, UniformGroups, consensus, measures, uniform_groups
from .pass_at_k import (
    ChangeParts,
    PassCurves,
    SampleNeeded,
    change_parts,
    pass_curves,
    samples_needed,
    shown_ks,
)
from .policy_fits import OWN_SHIFTS, PolicyScore, policy_scores
from .prompts import ChangedPrompt, LogOddsShift, SolvedPrompts, changed, log_odds_shift, solved_prompts
from .report import sentences, shortened, tables

_CARRIED = 5.0
"""Fewer prompts than these that carry the spread of a difference are named."""


@dataclass(frozen=True)
class CountsFile:
    """A file of counts: its name, its hash, how many prompts it alone has, its columns."""

    name: str
    sha256: str
    unmatched: int
    columns: str = ""


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """A run held against its base and the theory; every interval has 95% confidence, prompts as units.

    `fell` and `rose` are prompts whose own counts differ beyond chance, the clearest first. `policies`, the
    stationary policies with the best first, are given where "no change" is rejected; `single`:
    no prompt has two answers on both sides, so that none is identified. `groups`, where prompts have two
    answers, and `answers`, where files have what each answer said, show what is left to choose. `notes` say
    what rewards there are, which prompts are left out, where few carry a number, and where the data are not
    what they say (`data_warnings`).
    """

    base: CountsFile
    run: CountsFile
    prompts: int
    answers: tuple[int, int]
    single: bool
    curves: PassCurves
    solved: SolvedPrompts
    gain: LogOddsShift
    policies: tuple[PolicyScore, ...]
    parts: tuple[ChangeParts, ...]
    fell: tuple[ChangedPrompt, ...]
    rose: tuple[ChangedPrompt, ...]
    spending: KlSpent | None = None
    needed: tuple[SampleNeeded, ...] = ()
    notes: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    groups: UniformGroups | None = None
    answers_left: AnswersLeft | None = None
    consensus: tuple[Measure, ...] = ()

    @property
    def best(self) -> PolicyScore | None:
        """The best stationary policy; a shift of its own for each prompt is none."""
        return next((line for line in self.policies if line.policy != OWN_SHIFTS), None)

    def summary(self) -> str:
        """The sentences, a line each."""
        return "\n".join(sentences(self))

    def tables(self) -> list[Table]:
        """The tables of `dph compare --all`."""
        return tables(self)

    def to_dataframe(self) -> Any:
        """Pass@k, a row for each k, with the band of the difference; ModuleNotFoundError without pandas."""
        columns = ("k", "base", "run", "difference", "low", "high")
        import pandas

        return pandas.DataFrame({name: getattr(self.curves, name) for name in columns})


def compare(
    base: Counts,
    run: Counts,
    *,
    allow_missing: bool = False,
    min_n: int = 1,
    ks: Sequence[int] | None = None,
    group_size: int = 8,
    seed: int = 0,
    power: Sequence[tuple[float, int]] = (),
) -> Comparison:
    """Compare a run with its base: Pass@k, prompts, log odds, stationary policies, and what a loss is of.

    Parameters: `base` and `run`, from `read_counts`, paired as `matched` does with `allow_missing` and
    `min_n`; `ks`, the k of Pass@k, by default 1, 2, ... (`pass_curves`); `group_size`, answers in a group of
    the training, for the policies of std-normalised advantages; `seed`, of
    all randomness; `power`, differences (d, k) of Pass@k for which to say how many prompts would establish
    them. Returns a Comparison. Raises ValueError as `matched` does, for fewer than two prompts, or a k
    above the least n.

    >>> base, run = read_counts("base.jsonl"), read_counts("run.jsonl")  # doctest: +SKIP
    >>> found = compare(base, run)  # doctest: +SKIP
    """
    both = matched(base, run, allow_missing=allow_missing, min_n=min_n)
    pairs, rng = both.counts, np.random.default_rng(seed)
    curves, gain = pass_curves(pairs, ks, seed=seed), log_odds_shift(pairs)
    most = curves.k[-1]
    identified = gain.identified and not pairs.has_single_answers and gain.changed
    fell, rose = (tuple(_named(both, i) for i in places.tolist()) for places in changed(pairs))
    return Comparison(
        base=CountsFile(base.name, base.sha256, both.only_base, base.columns),
        run=CountsFile(run.name, run.sha256, both.only_run, run.columns),
        prompts=len(pairs),
        answers=(pairs.fewest_answers, int(max(pairs.base_n.max(), pairs.run_n.max()))),
        single=pairs.has_single_answers,
        curves=curves,
        solved=solved_prompts(pairs, rng),
        gain=gain,
        policies=policy_scores(pairs, group_size, rng) if identified else (),
        parts=change_parts(pairs, shown_ks(most), rng),
        fell=fell,
        rose=rose,
        spending=kl_spent(both.run, pairs) if _same_reference(base, run, both) else None,
        needed=tuple(line for d, k in power for line in samples_needed(pairs, d, k)),
        notes=tuple(_notes(base, run, both, curves)),
        measures=measures(both, most, rng),
        groups=uniform_groups(pairs, group_size),
        answers_left=answers_left(both.base, both.run, rng),
        consensus=consensus(both, most, rng),
    )


def _notes(base: Counts, run: Counts, both: MatchedRows, curves: PassCurves) -> Iterator[str]:
    """What rewards there are; prompts that are left out or have too few answers for some k, or carry much."""
    reach, last = both.counts.shared_answers, curves.k[-1]
    yield from data_warnings((run, base))
    if any(row.kl is not None for row in both.run) and not _same_reference(base, run, both):
        yield f"no KL: {run.name} has it from another model than {base.name}"
    for side in (run, base):
        yield from (f"{side.name}: {words}" for words in side.notes)
    if left_out := both.only_base + both.only_run:
        yield f"{left_out} prompts that only one file has are left out"
    if both.too_few:
        yield f"{both.too_few} prompts with fewer answers than asked for are left out"
    least = f"{shortened(str(both.base[int(reach.argmin())].id))!r} has {reach.min()}"
    if (short := len(reach) - curves.prompts) > 0:
        rest = f"Pass@k is of the other {curves.prompts}"
        yield f"{short} prompts have fewer than {last} answers ({least}): {rest}"
    elif 2 * last <= np.median(reach) and curves.k == tuple(range(1, last + 1)):
        few = int((reach < np.median(reach)).sum())
        yield f"k goes up to {last} because of {few} prompts with few answers ({least}): see --min-n and --k"
    # Where no prompt differs there is nothing that some carry.
    carried = [(effective, k) for k, effective in zip(curves.k, curves.effective, strict=True) if effective]
    if carried and min(carried)[0] < _CARRIED:
        fewest, at = min(carried)
        yield f"at k = {at} as few as {fewest:.1f} prompts carry the spread of the difference"


def _same_reference(base: Counts, run: Counts, both: MatchedRows) -> bool:
    """True if the run's log ratios are from the base, whose pass rates tell the least KL.

    An evaluation of the model at which training began has no KL to itself.
    """
    of_base, reference = base.models[0], run.models[1]
    if of_base is not None and reference is not None:
        return of_base == reference
    return not any(row.kl for row in both.base)


def _named(both: MatchedRows, i: int) -> ChangedPrompt:
    before, after = both.base[i], both.run[i]
    return ChangedPrompt(str(before.id), before.c / before.n, after.c / after.n)
