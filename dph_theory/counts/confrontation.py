"""Everything that counts tell of a run against its base: as one value, in five lines, in tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from ..intervals import Estimate
from ..support.notebook import Shown
from ..support.table import Cell, Table, dataframe
from .kl_and_styles import KlSpent, StyleCounts, kl_spent, style_counts
from .law_fits import LawRanking, LawScore, ranked_laws
from .luck import Luck, luck
from .measures import CategoryChange, Measure, by_category, measures
from .pairs import Counts, Matched
from .pass_at_k import ChangeParts, PassCurves, SampleNeeded, change_parts, needed, pass_curves, told_ks
from .prompts import LogOddsShift, SolvedPrompts, changed, log_odds_shift, solved_prompts

_NAMED, _SHOWN = 50, 12
"""The most prompts of a kind that are named, and that a table shows."""
_LONGEST_ID = 60
_CARRIED = 5.0
"""Fewer prompts than these that carry the spread of a difference are told."""


@dataclass(frozen=True)
class CountsFile:
    """A file of counts: its name, its hash, how many prompts it alone has, whether it was cut off."""

    name: str
    sha256: str
    unmatched: int
    cut_off: bool


@dataclass(frozen=True)
class NamedPrompt:
    """A prompt that is named: rates seen before and after, and as the best law predicts, if one is told."""

    id: str
    before: float
    after: float
    predicted: float | None = None


@dataclass(frozen=True)
class NamedPrompts:
    """How many prompts there are of a kind, and the clearest of them."""

    count: int
    prompts: tuple[NamedPrompt, ...]


@dataclass(frozen=True, repr=False)
class Confrontation(Shown):
    """A run held against its base and the theory; every interval has 95% confidence, prompts as units.

    `notes` say which prompts are not in some number.

    `fell` and `rose` are prompts whose own counts differ, `off` those that the best law (`best_law`, of the
    `compared` prompts that decided) does not explain. Laws are told where "no change" is rejected, or on
    request.
    """

    base: CountsFile
    run: CountsFile
    prompts: int
    answers: tuple[int, int]
    seed: int
    curves: PassCurves
    kept: SolvedPrompts
    gain: LogOddsShift
    laws: tuple[LawScore, ...]
    best_law: str | None
    compared: int
    parts: tuple[ChangeParts, ...]
    fell: NamedPrompts
    rose: NamedPrompts
    off: NamedPrompts
    spending: KlSpent | None = None
    styles: StyleCounts | None = None
    needed: tuple[SampleNeeded, ...] = ()
    notes: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    categories: tuple[CategoryChange, ...] = ()
    luck: Luck | None = None

    def summary(self) -> str:
        """The five lines."""
        return "\n".join(five_lines(self))

    def tables(self) -> list[Table]:
        """The tables of `dph confront`."""
        return tables(self)

    def to_dataframe(self) -> Any:
        """Pass@k, a row for each k, with the band of the difference; ModuleNotFoundError without pandas."""
        columns = ("k", "base", "run", "difference", "low", "high", "standard_error")
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
    asked = ks or _asked_by(matched)
    curves = pass_curves(pairs, asked, draws=draws, seed=seed)
    gain = log_odds_shift(pairs)
    told = gain.identified and not pairs.single and (laws or gain.changed)
    ranking = ranked_laws(pairs, group_size, rng) if told else None
    named = partial(_named, matched, ranking)
    fell, rose = changed(pairs)
    return Confrontation(
        base=_file(base, matched.only_base),
        run=_file(run, matched.only_run),
        prompts=len(pairs),
        answers=(pairs.least, int(max(pairs.base_n.max(), pairs.run_n.max()))),
        seed=seed,
        curves=curves,
        kept=solved_prompts(pairs, rng),
        gain=gain,
        laws=() if ranking is None else ranking.laws,
        best_law=None if ranking is None else ranking.best,
        compared=0 if ranking is None else ranking.prompts,
        parts=change_parts(pairs, told_ks(curves.k[-1]), rng),
        fell=named(fell),
        rose=named(rose),
        off=named(fell[:0] if ranking is None else ranking.off),
        spending=kl_spent(matched.run, pairs) if _same_reference(base, run, matched) else None,
        styles=style_counts(matched.base, matched.run),
        needed=tuple(line for d, k in power for line in needed(pairs, d, k, curves.critical)),
        notes=tuple(_notes(base, run, matched, curves)),
        measures=measures(matched, curves.k[-1], rng, beyond or ()),
        categories=_categories(matched, curves.k[-1], rng),
        luck=None if drift is None else luck(pairs, *drift, rng),
    )


def _categories(matched: Matched, k: int, rng: np.random.Generator) -> tuple[CategoryChange, ...]:
    """By the base's categories, where it has some."""
    names = [row.category for row in matched.base]
    return by_category(matched.counts, names, k, rng) if any(name is not None for name in names) else ()


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
    least = f"{str(matched.base[int(reach.argmin())].id)[:_LONGEST_ID]!r} has {reach.min()}"
    if (short := int((reach < last).sum())) > 0:
        others = f"Pass@k beyond is of the other {len(reach) - short}; --min-n leaves them out everywhere"
        yield f"{short} prompts have fewer than {last} answers ({least}): {others}"
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


def _named(matched: Matched, ranking: LawRanking | None, places: np.ndarray) -> NamedPrompts:
    pairs, prompts = matched.counts, []
    for i in places[:_NAMED].tolist():
        before, after = pairs.base_c[i] / pairs.base_n[i], pairs.run_c[i] / pairs.run_n[i]
        by_law = None if ranking is None else float(ranking.predicted[i])
        prompts.append(NamedPrompt(str(matched.base[i].id), float(before), float(after), by_law))
    return NamedPrompts(len(places), tuple(prompts))


def _file(counts: Counts, unmatched: int) -> CountsFile:
    return CountsFile(counts.name, counts.sha256, unmatched, counts.cut_off)


def _asked_by(matched: Matched) -> tuple[int, ...] | None:
    """The k that the rows themselves ask for: those in all the lists, None without lists."""
    lists = [set(r.ks) for r in (*matched.base, *matched.run) if r.ks is not None]
    return tuple(sorted(set.intersection(*lists))) if lists else None


def five_lines(found: Confrontation) -> tuple[str, str, str, str, str]:
    r"""What was compared, Pass@k, which prompts, which law of training, and what a loss is made of.

    Parameters: `found`, from `confront`. Returns a sentence or a few for each.

    >>> print(*five_lines(found), sep="\n")  # doctest: +SKIP
    """
    return (_data(found), _pass_at_k(found.curves), _prompts(found), _theory(found), _loss(found))


def percent(value: float) -> str:
    """A share as a percentage."""
    return f"{100 * value:.1f}%"


def interval(found: Estimate, digits: int = 2) -> str:
    """A number with its interval."""
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def chance(p_value: float) -> str:
    """A p-value as it is told."""
    return "p < 1e-10" if p_value < 1e-10 else f"p = {p_value:.2g}"


def _data(found: Confrontation) -> str:
    low, high = found.answers
    each = f"{low}" if low == high else f"{low} to {high}"
    left_out = found.base.unmatched + found.run.unmatched
    missing = f"; {left_out} prompts that only one file has are left out" if left_out else ""
    missing += "".join(f"; {note}" for note in found.notes)
    cut = "".join(
        f"; {side.name} ends in an unfinished line" for side in (found.run, found.base) if side.cut_off
    )
    return (
        f"{found.run.name} against {found.base.name} on {found.prompts} prompts, "
        f"{each} answers to each{missing}{cut}."
    )


def _pass_at_k(found: PassCurves) -> str:
    first, last = found.k[0], found.k[-1]
    words = f"Pass@{first} goes from {percent(found.base[0])} to {percent(found.run[0])}"
    if last != first:
        words += f", Pass@{last} from {percent(found.base[-1])} to {percent(found.run[-1])}"
    better, worse = (
        f"at k = {spans}" if (spans := _spans(ks)) else "at no k" for ks in (found.better, found.worse)
    )
    words += f"; with 95% confidence, for all k together, the run is better {better} and worse {worse}"
    # Where no prompt differs there is nothing that some carry.
    carried = np.array([e or np.inf for e in found.effective])
    if min(carried, default=np.inf) < _CARRIED:
        at = int(np.argmin(carried))
        words += f" (at k = {found.k[at]} as few as {found.effective[at]:.1f} prompts carry the spread)"
    if found.first_worse is None:
        return words + "."
    start, end = found.first_worse
    if end is not None:
        return f"{words}; the first k at which it is worse lies between {start} and {end}."
    if start <= last:
        return f"{words}; these counts do not tell whether it is worse at any k from {start} on."
    return f"{words}; it is better at every k tested."


def _spans(ks: tuple[int, ...]) -> str:
    """Numbers with runs of neighbours joined, at most four pieces."""
    # Neighbours have one difference to their place in the list.
    runs = [[k for _, k in run] for _, run in groupby(enumerate(ks), lambda at: at[1] - at[0])]
    told = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return ", ".join(told[:4]) + (", ..." if len(told) > 4 else "")


def _prompts(found: Confrontation) -> str:
    some, others = found.kept, found.prompts - found.kept.solved_by_base
    kept, new = "The base solves no prompt in its answers", "it solves every prompt"
    if some.kept is not None:
        kept = f"Of {some.solved_by_base} prompts that the base solves at least once the run still solves "
        kept += f"{percent(some.kept.value)} (an unchanged model: {_or_unknown(some.kept_unchanged)})"
    if some.new is not None:
        new = f"of the other {others} it newly solves {some.gained}, {percent(some.new.value)}"
        new += f" (unchanged: {_or_unknown(some.new_unchanged)})"
    return (
        f"{kept}, and {new}; {some.lost} lost against {some.gained} gained has {chance(some.p_value)} if "
        f"nothing changed. Taken one by one, {found.fell.count} prompts fell and {found.rose.count} rose "
        f"beyond chance.{_luck(found.luck)}"
    )


def _or_unknown(share: float | None) -> str:
    return "not identified" if share is None else percent(share)


def _luck(drift: Luck | None) -> str:
    if drift is None:
        return ""
    words = (
        f" Drift alone, at a step of {drift.step:g} in logits and {drift.answers} answers a step, would lose "
        f"{drift.lost:.1f}; {drift.seen} or more have {chance(drift.p_value)}"
    )
    rough = f" (of first order: its deviation {drift.deviation:.2f} may be {drift.too_large:.0%} too large)"
    return words + rough * (drift.too_large > 0.05) + "."


def _theory(found: Confrontation) -> str:
    moved, best = found.gain, next((line for line in found.laws if line.law == found.best_law), None)
    if not moved.identified:
        return (
            "Neither a shift of the log odds nor a law of training is identified: of the two one succeeds "
            "always or never."
            if not moved.informative
            else "Neither a shift of the log odds nor a law of training is identified by these counts."
        )
    pooled = (
        f"The log odds of a correct answer move by {interval(moved.pooled)} over all prompts (Mantel and "
        "Haenszel's odds ratio, in which prompts near 0 or 1 weigh little)"
    )
    if moved.spread is None:
        return f"{pooled}; one answer a prompt tells only means, so that no law of training is identified."
    same = f"no change is not rejected ({chance(moved.p_no_change)})"
    if best is None:
        return f"{same.capitalize()}, so that no law of training is told. {pooled}."
    beta = f" at beta = {interval(best.beta, 3)}" if best.beta else ""
    hardly = ", though the counts hardly fix a beta" * bool(best.beta and best.beta.high > 10 * best.beta.low)
    words = f'Of the laws of training "{best.law}"{beta} predicts answers held out best{hardly}'
    if best.rejected:
        words = (
            f'No law of training fits: the nearest, "{best.law}"{beta}{hardly}, predicts answers held out '
        )
        words += f"{-best.held_out.value:.2f} nats a prompt worse than {found.laws[0].law}"
        if best.dispersion is not None:
            words += f", and they vary {best.dispersion.value:.1f} times as much as it says"
    if not moved.changed:
        words = f"{same.capitalize()}; {words[0].lower()}{words[1:]}"
    one = "all prompts may share one shift" if moved.p_one_shift > 0.05 else "prompts do not share one shift"
    return (
        f"{words}; {found.off.count} prompts do not fit it. {pooled}; {one} ({chance(moved.p_one_shift)}; "
        f"its standard deviation over prompts is {interval(moved.spread)})."
    )


def _loss(found: Confrontation) -> str:
    # From k beyond half the answers on, whoever is solved at all counts nearly as one.
    most = max(found.answers[0], found.curves.k[-1])
    half = [part for part in found.parts if 2 * part.k <= most] or list(found.parts)
    least = min(half, key=lambda part: part.change.value)
    if least.change.high < 0:
        words = f"Pass@{least.k} falls by {_points(-least.change.value)} points: {_made_of(least)}"
    else:
        words = "No fall of Pass@k is established at the k of the table"
    if (spent := found.spending) is not None:
        words += (
            f". KL to the base is {interval(spent.total)} nats, {interval(spent.excess)} more than the least "
            "at these pass rates"
        )
    if (kinds := found.styles) is not None:
        words += f". Styles in {kinds.k} answers: {kinds.base.value:.2f} before, {kinds.run.value:.2f} after"
    return words + "."


def _points(value: float) -> str:
    return f"{100 * value:.1f}"


def _made_of(loss: ChangeParts) -> str:
    """What a fall is made of, then what there is against it."""
    solved_set, narrowing = loss.solved_set.value, loss.narrowing.value
    told = (
        (solved_set < 0, f"{_points(-solved_set)} because more prompts are lost than newly solved"),
        (narrowing < 0, f"{_points(-narrowing)} because prompts still solved are solved more rarely"),
        (solved_set > 0, f"less {_points(solved_set)} because more prompts are newly solved than lost"),
        (narrowing > 0, f"less {_points(narrowing)} gained on prompts that both solve"),
    )
    return ", ".join(words for holds, words in told if holds)


def tables(found: Confrontation) -> list[Table]:
    """Pass@k and what its change is made of, the laws, prompts that stand out, KL, power: those with rows."""
    law_head = ("law", "beta", "held-out answers, nats a prompt below the best", "variance seen / predicted")
    alone = "(this k alone)"
    part_head = ("k", f"change {alone}", f"prompts newly solved less lost {alone}", f"both solve {alone}")
    made = [
        _curve_table(found.curves),
        Table.of(
            part_head,
            ((p.k, p.change, p.solved_set, p.narrowing) for p in found.parts),
            "What the change of Pass@k is made of",
        ),
        Table.of(
            law_head,
            ((x.law, x.beta, x.held_out, x.dispersion) for x in found.laws if found.gain.identified),
            "Laws of training, best first",
        ),
        *(
            Table.of(
                ("prompt", "before", "after", "by the best law"),
                ((shortened(p.id), p.before, p.after, p.predicted) for p in named.prompts[:_SHOWN]),
                f"{named.count} prompts that {words}",
            )
            for words, named in (
                ("do not fit the best law", found.off),
                ("fell", found.fell),
                ("rose", found.rose),
            )
        ),
        Table.of(
            ("measure", "base", "run", "change (each alone)"),
            ((m.name, m.base, m.run, m.change) for m in found.measures),
            "Further measures",
        ),
        Table.of(
            ("category", "prompts", "change of Pass@1", "k", "change of Pass@k"),
            ((c.category, c.prompts, c.first, c.k, c.last) for c in found.categories),
            "By category, all intervals at once",
        ),
        _kl_table(found.spending),
        *_power_tables(found),
    ]
    return [table for table in made if table.rows]


def _curve_table(drawn: PassCurves) -> Table:
    shown = drawn.k if len(drawn.k) <= _SHOWN else told_ks(drawn.k[-1])
    columns = zip(drawn.k, drawn.base, drawn.run, drawn.difference, drawn.low, drawn.high, strict=True)
    carried = dict(zip(drawn.k, zip(drawn.prompts, drawn.effective, strict=True), strict=False))
    rows = (
        (k, base, run, Estimate(*gap), _sign(drawn, k), *_carried(*carried.get(k, (None, None))))
        for k, base, run, *gap in columns
        if k in shown
    )
    head = (
        "k",
        "base",
        "run",
        "difference (all k at once)",
        "the run is",
        "prompts",
        "that carry the spread",
    )
    return Table.of(head, rows, "Pass@k, with the band that holds at all k at once")


def _carried(prompts: int | None, effective: float | None) -> tuple[Cell, Cell]:
    return prompts, None if effective is None else f"{effective:.1f}"


def _sign(drawn: PassCurves, k: int) -> str:
    return "better" if k in drawn.better else "worse" if k in drawn.worse else "not certain"


def _kl_table(spent: KlSpent | None) -> Table:
    named = {} if spent is None else {
        "KL(run || base)": spent.total,
        "least at these pass rates": spent.least,
        "excess": spent.excess,
        "excess among correct answers": spent.correct,
        "excess among incorrect answers": spent.incorrect,
    }  # fmt: skip
    rows = ((name, value) for name, value in named.items() if value is not None)
    return Table.of(("part", "mean over prompts"), rows, "KL, nats a prompt")


def _power_tables(found: Confrontation) -> Iterator[Table]:
    detectable = f"least difference that {found.prompts} prompts tell"
    head = ("answers to each", "prompts, this k alone", "prompts, band over all k", detectable)
    for (difference, k), lines in groupby(found.needed, key=lambda line: (line.difference, line.k)):
        rows = ((n.n, n.prompts, n.prompts_in_band, n.detectable) for n in lines)
        yield Table.of(head, rows, f"To tell a difference of {difference:g} in Pass@{k} with 80% power")


def shortened(text: str) -> str:
    """A prompt's id on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_ID else f"{line[: _LONGEST_ID - 3]}..."
