"""A confrontation in sentences of a line each, and in tables."""

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from ..support.table import Table, printable
from .answers import ONE, AnswersLeft
from .measures import AlikeGroups
from .pass_at_k import PassCurves, told_ks

if TYPE_CHECKING:
    from .confrontation import Confrontation

_SHOWN = 12
"""The most prompts of a kind, and k, that a table shows."""
_LONGEST_ID, _LONGEST_NAME = 60, 24


def sentences(found: "Confrontation") -> tuple[str, ...]:
    r"""What was compared, Pass@k, which prompts and answers are left, which policy, what a fall is made of.

    Parameters: `found`, from `confront`. Returns sentences, of a terminal's line each.

    >>> print(*sentences(found), sep="\n")  # doctest: +SKIP
    """
    first = (_data(found), _pass_at_k(found.curves), _prompts(found))
    return (*first, *_answers(found.answers_left), *_groups(found.groups), *_law(found), _fall(found))


def percent(value: float) -> str:
    """A share as a percentage."""
    return "100%" if value == 1 else f"{100 * value:.1f}%"


def chance(p_value: float) -> str:
    """A p-value as it is printed."""
    return "p < 1e-10" if p_value < 1e-10 else f"p = {p_value:.2g}"


def shortened(text: str, longest: int = _LONGEST_ID) -> str:
    """A name on one line, cut where it is long, with nothing that a terminal obeys."""
    line, half = printable(" ".join(text.split())), (longest - 3) // 2
    # What tells names apart stands at their end as often as at their beginning.
    return line if len(line) <= longest else f"{line[: longest - 3 - half]}...{line[-half:]}"


def _data(found: "Confrontation") -> str:
    each = " to ".join(map(str, sorted({*found.answers})))
    run, base = (shortened(side.name, _LONGEST_NAME) for side in (found.run, found.base))
    return f"{run} against {base}: {found.prompts} prompts, {each} answers to each."


def _pass_at_k(found: PassCurves) -> str:
    told = (
        f"Pass@{found.k[i]}{'' if i else ' goes'} from {percent(found.base[i])} to {percent(found.run[i])} "
        f"({_sign(found, found.k[i])})"
        for i in sorted({0, len(found.k) - 1})
    )
    return ", ".join(told) + "."


def _sign(found: PassCurves, k: int) -> str:
    return "better" if k in found.better else "worse" if k in found.worse else "unsure"


def _prompts(found: "Confrontation") -> str:
    some, others = found.kept, found.prompts - found.kept.solved_by_base
    lost = f"{some.lost} of {some.solved_by_base} solved prompts lost"
    new = f"{some.gained} of {others} others gained"
    if some.kept_unchanged is not None:
        lost += f" (by chance {some.solved_by_base * (1 - some.kept_unchanged):.1f})"
    if some.new_unchanged is not None:
        new += f" ({others * some.new_unchanged:.1f})"
    return f"{lost}, {new}."


def _answers(found: AnswersLeft | None) -> Iterator[str]:
    if found is not None:
        one = "One correct answer a prompt left" if found.run.value >= ONE else "Correct answers"
        agree = f"two agree in {found.run.value:.2f} (base {found.base.value:.2f})"
        yield f"{one}: {agree}, on {found.prompts} prompts."
        told = f"{percent(found.new)} are new to the base (by chance {percent(found.new_by_chance)})"
        yield f"{told}; its likeliest leads on {found.led} of {found.clear}."


def _groups(found: AlikeGroups | None) -> Iterator[str]:
    if found is None:
        return
    if found.whole >= ONE:
        yield (
            f"Pass@{found.answers} = Pass@1: on {percent(found.whole)} of the prompts all answers are alike."
        )
    else:
        told = f"{percent(found.base)} before, {percent(found.run)} after"
        yield f"Groups of {found.size} all correct or all incorrect: {told}."


def _law(found: "Confrontation") -> Iterator[str]:
    """The closest optimum, how far from fitting; why none, where it is rejected or not identified."""
    no_law = _no_law(found)
    if no_law or found.best is None:
        yield no_law
        return
    best, law = found.best, found.best.law
    for long, short in (
        (", advantages std-normalised (groups of ", ", std-normalised (G = "),
        (", advantages", ","),
    ):
        law = law.replace(long, short)
    beta = f", beta {best.beta.value:.2g} [{best.beta.low:.2g}, {best.beta.high:.2g}]" if best.beta else ""
    yield f"Closest KL-regularised optimum: {law}{beta}."
    behind = f"{-best.held_out.value:.2g} nats a prompt behind shifts of their own"
    far = "none predicts better" if best == found.laws[0] else behind
    yield f"On answers held out {far}; without a KL no cause."


def _no_law(found: "Confrontation") -> str:
    """Why no law of training is named; empty where one is."""
    moved = found.gain
    if found.single:
        return "One answer a prompt gives only means: no KL-regularised optimum is identified."
    if not moved.identified:
        known = moved.informative and abs(moved.pooled.value) < float("inf")
        why = "every prompt says the same" if known else "at every prompt one is always correct, or never"
        return f"No KL optimum is identified: {why}."
    if found.best is None:
        return f"No change is not rejected ({chance(moved.p_no_change)}): no optimum is fitted."
    said = "No single KL-regularised optimum fits: prompts move by amounts of their own."
    return said if found.best.rejected else ""


def _fall(found: "Confrontation") -> str:
    # From k beyond half the answers on, whoever is solved at all counts nearly as one.
    most = max(found.answers[0], found.curves.k[-1])
    half = [part for part in found.parts if 2 * part.k <= most] or list(found.parts)
    least = min(half, key=lambda part: part.change.value)
    if least.change.high >= 0:
        return "No fall of Pass@k is established at the k of the table."
    named = (("by lost prompts", least.solved_set.value), ("by rarer answers", least.narrowing.value))
    made = ", ".join(f"{100 * value:+.1f} {words}" for words, value in named)
    return f"Pass@{least.k} falls by {-100 * least.change.value:.1f} points: {made}."


def _points(value: float, low: float, high: float) -> str:
    """A change and its interval in percentage points."""
    return f"{100 * value:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def curve_table(found: PassCurves, name: str = "") -> Table:
    """Pass@k of both, their difference with the band, and its sign; of a run of that name."""
    shown = found.k if len(found.k) <= _SHOWN else told_ks(found.k[-1])
    columns = zip(found.k, found.base, found.run, found.difference, found.low, found.high, strict=True)
    rows = (
        (k, percent(base), percent(run), _points(*gap), _sign(found, k))
        for k, base, run, *gap in columns
        if k in shown
    )
    of = f" of {shortened(name, _LONGEST_NAME)}" if name else ""
    title = f"Pass@k{of}; the differences' intervals hold at all k at once (95%)"
    if found.first_worse is not None and found.first_worse[1] is not None:
        title += f"; worse from a k between {found.first_worse[0]} and {found.first_worse[1]} on"
    return Table.of(("k", "base", "trained", "change in points", "trained is"), rows, title)


def _shift_table(found: "Confrontation") -> Table:
    some, moved = found.kept, found.gain
    named = (
        ("share kept of prompts that the base solves", some.kept, some.kept_unchanged),
        ("share newly solved of the others", some.new, some.new_unchanged),
        ("lost prompts that as many answers more would solve", some.lost_again, None),
        (
            "log odds ratio over all prompts (Mantel-Haenszel)",
            moved.pooled if moved.identified else None,
            0.0,
        ),
        (f"p, lost against newly solved ({some.lost}, {some.gained})", some.p_value, None),
        ("p, no change of any prompt's rate", moved.p_no_change, None),
    )
    return Table.of(
        ("prompts", "run", "if unchanged"), (row for row in named if row[1] is not None), "Prompts"
    )


def tables(found: "Confrontation") -> list[Table]:
    """Pass@k and what its change is made of, prompts, policies, KL, further measures: those with rows."""
    alone = "(this k alone)"
    return _with_rows(
        curve_table(found.curves, found.run.name),
        Table.of(
            ("k", f"change {alone}", f"newly solved less lost {alone}", f"both solve {alone}"),
            ((p.k, p.change, p.solved_set, p.narrowing) for p in found.parts),
            "What the change of Pass@k is made of",
        ),
        _shift_table(found),
        Table.of(
            ("KL-regularised optimum", "beta", "held-out answers, nats a prompt below the best"),
            ((x.law, x.beta, x.held_out) for x in found.laws),
            "KL-regularised optima",
        ),
        *(
            Table.of(
                ("prompt", "before", "after"),
                ((shortened(p.id), p.before, p.after) for p in those[:_SHOWN]),
                f"{len(those)} prompts that {words}, beyond chance",
            )
            for words, those in (("fell", found.fell), ("rose", found.rose))
        ),
        _kl_table(found),
        *requested(found, everything=True),
    )


def requested(found: "Confrontation", everything: bool = False) -> list[Table]:
    """What is printed because it was asked for: Pass@k beyond and by category, power; or every measure."""
    head = ("answers to each", "prompts needed", f"least difference that {found.prompts} prompts detect")
    return _with_rows(
        Table.of(
            ("measure", "prompts", "base", "run", "change (each alone; of categories all at once)"),
            ((m.name, m.prompts, m.base, m.run, m.change) for m in found.measures if everything or m.asked),
            "Further measures",
        ),
        *(
            Table.of(
                head,
                ((n.n, n.prompts, n.detectable) for n in lines),
                f"To detect a difference of {difference:g} in Pass@{k} with 80% power",
            )
            for (difference, k), lines in groupby(found.needed, key=lambda line: (line.difference, line.k))
        ),
    )


def _with_rows(*made: Table) -> list[Table]:
    return [table for table in made if table.rows]


def _kl_table(found: "Confrontation") -> Table:
    spent = found.spending
    if spent is None:
        return Table((), ())
    named = {
        "KL(run || base), nats": spent.total,
        "least at these pass rates": spent.least,
        "excess": spent.excess,
        "excess among correct answers": spent.correct,
        "excess among incorrect answers": spent.incorrect,
    }
    title = f"The KL over {spent.prompts} prompts"
    title += f", less {spent.left_out} that the base solves always or never" if spent.left_out else ""
    rows = ((name, value) for name, value in named.items() if value is not None)
    return Table.of(("part", "mean over prompts"), rows, title)
