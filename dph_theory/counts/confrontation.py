"""Everything that counts tell of a run against its base, as one value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..support.notebook import Shown
from ..support.table import Table, dataframe
from .kl_and_styles import KlSpent, StyleCounts, kl_spent, style_counts
from .law_fits import LawScore, ranked_laws
from .luck import Luck, luck
from .measures import CategoryChange, Measure, by_category, measures
from .pairs import Counts, Matched
from .pass_at_k import ChangeParts, PassCurves, SampleNeeded, change_parts, needed, pass_curves, told_ks
from .prompts import LogOddsShift, SolvedPrompts, changed, log_odds_shift, solved_prompts
from .words import five_lines, shortened, tables

_NAMED = 50
"""The most prompts of a kind that are named."""


@dataclass(frozen=True)
class CountsFile:
    """A file of counts: its name, its hash, how many prompts it alone has, whether it was cut off."""

    name: str
    sha256: str
    unmatched: int
    cut_off: bool


@dataclass(frozen=True)
class NamedPrompt:
    """A prompt that is named: rates seen before and after."""

    id: str
    before: float
    after: float


@dataclass(frozen=True)
class NamedPrompts:
    """How many prompts there are of a kind, and the clearest of them."""

    count: int
    prompts: tuple[NamedPrompt, ...]


@dataclass(frozen=True, repr=False)
class Confrontation(Shown):
    """A run held against its base and the theory; every interval has 95% confidence, prompts as units.

    `fell` and `rose` are prompts whose own counts differ beyond chance. `laws`, the best first, are told
    where "no change" is rejected, or on request; `single`: no prompt has two answers on both sides, so that
    none is identified. `notes` say what rewards there are and which prompts are not in some number.
    """

    base: CountsFile
    run: CountsFile
    prompts: int
    answers: tuple[int, int]
    single: bool
    seed: int
    curves: PassCurves
    kept: SolvedPrompts
    gain: LogOddsShift
    laws: tuple[LawScore, ...]
    parts: tuple[ChangeParts, ...]
    fell: NamedPrompts
    rose: NamedPrompts
    spending: KlSpent | None = None
    styles: StyleCounts | None = None
    needed: tuple[SampleNeeded, ...] = ()
    notes: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    categories: tuple[CategoryChange, ...] = ()
    luck: Luck | None = None

    @property
    def best(self) -> LawScore | None:
        """The best law of training; a shift of its own for each prompt is none."""
        return next((line for line in self.laws if line.dispersion is not None), None)

    def summary(self) -> str:
        """The five lines."""
        return "\n".join(five_lines(self))

    def tables(self) -> list[Table]:
        """The tables of `dph confront --all`."""
        return tables(self)

    def to_dataframe(self) -> Any:
        """Pass@k, a row for each k, with the band of the difference; ModuleNotFoundError without pandas."""
        columns = ("k", "base", "run", "difference", "low", "high")
        return dataframe({name: getattr(self.curves, name) for name in columns})


def confront(
    base: Counts,
    run: Counts,
    matched: Matched,
    *,
    ks: Sequence[int] | None = None,
    group_size: int = 8,
    draws: int = 4000,
    seed: int = 0,
    power: Sequence[tuple[float, int]] = (),
    drift: tuple[float, int] | None = None,
    beyond: Sequence[int] | None = None,
    laws: bool = False,
) -> Confrontation:
    """Hold a run against its base: Pass@k, prompts kept, the log odds, laws, what a loss is made of.

    Parameters: `base` and `run`, from `read_counts`; `matched`, their pairs; `ks`, the k of Pass@k, by
    default those that the rows ask for, else 1, 2, ..., the least n; `group_size`, answers in a group of the
    training, for the laws with divided advantages; `draws`, of the band's bootstrap; `seed`, of all
    randomness; `power`, differences (d, k) of Pass@k for which to say how many prompts would tell them;
    `drift`, the step in logits and the answers a step of a run without a KL, for its null of luck; `beyond`,
    k of which to tell Pass@k by a fitted law of rates, also above n (`rates.solved_beyond`); `laws`, hold the
    laws of training to the counts even where "no change" is not rejected.
    Returns a Confrontation. Raises ValueError for fewer than two prompts, or a k above the least n.

    >>> base, run = read_counts("base.jsonl"), read_counts("run.jsonl")  # doctest: +SKIP
    >>> found = confront(base, run, matched(base, run))  # doctest: +SKIP
    """
    pairs, rng = matched.counts, np.random.default_rng(seed)
    curves = pass_curves(pairs, ks or _asked_by(matched), draws=draws, seed=seed)
    gain, most = log_odds_shift(pairs), curves.k[-1]
    told = gain.identified and not pairs.single and (laws or gain.changed)
    fell, rose = (_named(matched, places) for places in changed(pairs))
    names = [row.category for row in matched.base]
    by = any(name is not None for name in names)
    return Confrontation(
        base=CountsFile(base.name, base.sha256, matched.only_base, base.cut_off),
        run=CountsFile(run.name, run.sha256, matched.only_run, run.cut_off),
        prompts=len(pairs),
        answers=(pairs.least, int(max(pairs.base_n.max(), pairs.run_n.max()))),
        single=pairs.single,
        seed=seed,
        curves=curves,
        kept=solved_prompts(pairs, rng),
        gain=gain,
        laws=ranked_laws(pairs, group_size, rng) if told else (),
        parts=change_parts(pairs, told_ks(most), rng),
        fell=fell,
        rose=rose,
        spending=kl_spent(matched.run, pairs) if _same_reference(base, run, matched) else None,
        styles=style_counts(matched.base, matched.run),
        needed=tuple(line for d, k in power for line in needed(pairs, d, k)),
        notes=tuple(_notes(base, run, matched, curves)),
        measures=measures(matched, most, rng, beyond or ()),
        categories=by_category(pairs, names, most, rng) if by else (),
        luck=None if drift is None else luck(pairs, *drift, rng),
    )


def _notes(base: Counts, run: Counts, matched: Matched, curves: PassCurves) -> Iterator[str]:
    """What rewards there are; prompts that are left out or have too few answers for some k."""
    if matched.counts.alike:
        copies = ", and are copies of one file" * (base.sha256 == run.sha256)
        yield f"both have the same counts of every prompt{copies}"
    if any(row.kl is not None for row in matched.run) and not _same_reference(base, run, matched):
        yield f"no KL is told: {run.name} has it from another model than {base.name}"
    for side in (run, base):
        yield from (f"{side.name}: {words}" for words in side.told)
    reach, last = matched.counts.reach, curves.k[-1]
    if matched.too_few:
        yield f"{matched.too_few} prompts with fewer answers than asked for are left out"
    least = f"{shortened(str(matched.base[int(reach.argmin())].id))!r} has {reach.min()}"
    if (short := len(reach) - curves.prompts) > 0:
        of = f"Pass@k is of the other {curves.prompts}"
        yield f"{short} prompts have fewer than {last} answers ({least}): {of}"
    elif 2 * last <= np.median(reach) and curves.k == tuple(range(1, last + 1)):
        few = int((reach < np.median(reach)).sum())
        yield f"k ends at {last} because of {few} prompts with few answers ({least}): see --min-n and --k"


def _same_reference(base: Counts, run: Counts, matched: Matched) -> bool:
    """Whether the run's log ratios are from the base, whose pass rates tell the least KL.

    An evaluation of the model at which training began has no KL to itself.
    """
    of_base, reference = base.models[0], run.models[1]
    if of_base is not None and reference is not None:
        return of_base == reference
    return not any(row.kl for row in matched.base)


def _named(matched: Matched, places: np.ndarray) -> NamedPrompts:
    pairs, prompts = matched.counts, []
    for i in places[:_NAMED].tolist():
        before, after = pairs.base_c[i] / pairs.base_n[i], pairs.run_c[i] / pairs.run_n[i]
        prompts.append(NamedPrompt(str(matched.base[i].id), float(before), float(after)))
    return NamedPrompts(len(places), tuple(prompts))


def _asked_by(matched: Matched) -> tuple[int, ...] | None:
    """The k that the rows themselves ask for: those in all the lists, None without lists."""
    lists = [set(r.ks) for r in (*matched.base, *matched.run) if r.ks is not None]
    return tuple(sorted(set.intersection(*lists))) if lists else None
