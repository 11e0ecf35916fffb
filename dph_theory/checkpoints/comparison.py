"""Comparison of a run with its base as one value: everything that counts show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..support.display import Shown
from ..support.table import Table
from .answers import AnswersLeft, answers_left
from .counts import Counts, MatchedRows, matched
from .data_warnings import data_warnings
from .kl import KlSpent, kl_spent
from .measures import Measure, consensus, measures
from .pass_at_k import ChangeParts, PassCurves, change_parts, pass_curves, shown_ks
from .prompts import ChangedPrompt, LogOddsShift, SolvedPrompts, changed, log_odds_shift, solved_prompts
from .report import sentences, shortened, tables

_CARRIED = 5.0
"""Fewer prompts than these that carry the spread of a difference are named."""


@dataclass(frozen=True)
class CountsFile:
    """Name and hash of a file of counts, the number of prompts that it alone has, and its columns."""

    name: str
    sha256: str
    unmatched: int
    columns: str = ""


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Comparison of a run with its base; every interval has 95% confidence, with prompts as units.

    Attributes:
        base, run: The two files.
        prompts, answers: Number of prompts, and fewest and most answers to a prompt.
        single: True if no prompt has two answers on both sides, so that no shift is identified.
        curves, parts: Pass@k with its band, and the parts of its change.
        solved, gain, fell, rose: Solved prompts, shift of the log odds, and prompts that changed beyond
            chance, clearest first.
        spending: KL spent, if the run's log ratios are from the base.
        measures, answers_left, consensus: Further measures, as far as the files have what they need.
        notes: Rewards, prompts left out, and warnings about the data.
    """

    base: CountsFile
    run: CountsFile
    prompts: int
    answers: tuple[int, int]
    single: bool
    curves: PassCurves
    solved: SolvedPrompts
    gain: LogOddsShift
    parts: tuple[ChangeParts, ...]
    fell: tuple[ChangedPrompt, ...]
    rose: tuple[ChangedPrompt, ...]
    spending: KlSpent | None = None
    notes: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    answers_left: AnswersLeft | None = None
    consensus: tuple[Measure, ...] = ()

    def summary(self) -> str:
        """Return the sentences, one per line."""
        return "\n".join(sentences(self))

    def tables(self) -> list[Table]:
        """Return the tables of `dph compare --all`."""
        return tables(self)

    def to_dataframe(self) -> Any:
        """Return Pass@k with the band of the difference, one row per k; needs pandas."""
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
    possible_answers: int | None = None,
) -> Comparison:
    """Compare a run with its base: Pass@k, prompts, log odds, and the parts of a fall.

    Args:
        base: Counts of the base.
        run: Counts of the run.
        allow_missing: True to leave out prompts that one file lacks.
        min_n: Fewest answers to a prompt that is compared.
        ks: Values of k, by default 1, 2, ... (`pass_curves`).
        group_size: Answers in a group of the training.
        seed: Seed of all randomness.
        possible_answers: Size of the answer space, to show the Pass@k of a uniform guess.

    Raises:
        ValueError: If the files share fewer than two prompts, or k exceeds their answers.

    Example:
        >>> compare(read_counts("base.jsonl"), read_counts("run.jsonl"))  # doctest: +SKIP
    """
    both = matched(base, run, allow_missing=allow_missing, min_n=min_n)
    pairs, rng = both.counts, np.random.default_rng(seed)
    curves = replace(pass_curves(pairs, ks, seed=seed), possible_answers=possible_answers)
    most = curves.k[-1]
    fell, rose = (tuple(_named(both, i) for i in places.tolist()) for places in changed(pairs))
    return Comparison(
        base=CountsFile(base.name, base.sha256, both.only_base, base.columns),
        run=CountsFile(run.name, run.sha256, both.only_run, run.columns),
        prompts=len(pairs),
        answers=(pairs.fewest_answers, int(max(pairs.base_n.max(), pairs.run_n.max()))),
        single=pairs.has_single_answers,
        curves=curves,
        solved=solved_prompts(pairs, rng),
        gain=log_odds_shift(pairs),
        parts=change_parts(pairs, shown_ks(most), rng),
        fell=fell,
        rose=rose,
        spending=kl_spent(both.run, pairs) if _same_reference(base, run, both) else None,
        notes=tuple(_notes(base, run, both, curves)),
        measures=measures(both, most, group_size, rng),
        answers_left=answers_left(both.base, both.run, rng),
        consensus=consensus(both, most, rng),
    )


def _notes(base: Counts, run: Counts, both: MatchedRows, curves: PassCurves) -> Iterator[str]:
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
    """True if the run's stored log-ratios refer to this base: same model, or the base's own KL is zero."""
    of_base, reference = base.models[0], run.models[1]
    if of_base is not None and reference is not None:
        return of_base == reference
    return not any(row.kl for row in both.base)


def _named(both: MatchedRows, i: int) -> ChangedPrompt:
    before, after = both.base[i], both.run[i]
    return ChangedPrompt(str(before.id), before.c / before.n, after.c / after.n)
