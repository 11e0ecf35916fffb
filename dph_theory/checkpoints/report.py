"""Sentences, of a terminal's line each, and tables of a comparison."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..support.table import Table, printable
from .answers import ONE, AnswersLeft
from .measures import GROUPS, Measure
from .pass_at_k import PassCurves, guess_at, shown_ks
from .prompts import ChangedPrompt

if TYPE_CHECKING:
    from .comparison import Comparison

_SHOWN, MOST_KS = 12, 7
"""The most prompts of a kind, and k, that a table shows."""
_LONGEST_ID, _LONGEST_NAME = 60, 24
_SIGNS = {1: "better", 0: "unsure", -1: "worse"}


def sentences(comparison: "Comparison") -> tuple[str, ...]:
    """Say what was compared, Pass@k, which prompts and answers are left, the shift, and any fall.

    Args:
        comparison: Result of `compare`.

    Returns:
        Sentences of at most 80 characters.
    """
    first = (_head(comparison), *_pass_at_k(comparison.curves), _solved_prompts(comparison))
    left = (*_consensus(comparison.consensus), *_answers_left(comparison.answers_left))
    return (*first, *left, *_uniform_groups(comparison.measures), _shift(comparison), _fall(comparison))


def _head(comparison: "Comparison") -> str:
    answers = " to ".join(map(str, sorted({*comparison.answers})))
    run, base = (shortened(side.name, _LONGEST_NAME) for side in (comparison.run, comparison.base))
    head = f"{run} against {base}: {comparison.prompts} prompts"
    head += f", {answers} answer{'s' * (answers != '1')} to each"
    columns = dict.fromkeys((comparison.run.columns, comparison.base.columns))
    return f"{'; '.join(filter(None, (head, *map(shortened, columns))))}."


def p_value_text(p_value: float) -> str:
    """p-value as text, such as: p = 0.012, or p < 1e-10."""
    return "p < 1e-10" if p_value < 1e-10 else f"p = {p_value:.2g}"


def shortened(text: str, longest: int = _LONGEST_ID) -> str:
    """Return a name on one line, shortened in the middle, without terminal control characters."""
    line, half = printable(" ".join(text.split())), (longest - 3) // 2
    return line if len(line) <= longest else f"{line[: longest - 3 - half]}...{line[-half:]}"


def _pass_at_k(curves: PassCurves) -> Iterator[str]:
    first, last = (
        f"from {curves.base[i]:.3f} to {curves.run[i]:.3f} ({_sign(curves, curves.k[i])})" for i in (0, -1)
    )
    further = f", Pass@{curves.k[-1]} {last}" if len(curves.k) > 1 else ""
    yield f"Pass@{curves.k[0]} goes {first}{further}."
    if curves.first_worse is not None and curves.first_worse[1] is not None:
        yield f"Worse from a k between {curves.first_worse[0]} and {curves.first_worse[1]} on."
    if curves.possible_answers:
        yield guess_sentence(curves.possible_answers, curves.k)


def guess_sentence(possible_answers: int, ks: Sequence[int]) -> str:
    """Say which Pass@k a uniform guess reaches at the least and the largest k."""
    first, last = (f"Pass@{k} {guess_at(k, possible_answers):.3f}" for k in (ks[0], ks[-1]))
    return f"A uniform guess at {possible_answers} possible answers: {first}, {last}."


def _sign(curves: PassCurves, k: int) -> str:
    return _SIGNS[(k in curves.better) - (k in curves.worse)]


def _solved_prompts(comparison: "Comparison") -> str:
    solved = comparison.solved
    unsolved = comparison.prompts - solved.solved_by_base
    lost = f"{solved.lost} of {solved.solved_by_base} solved prompts lost"
    new = f"{solved.gained} of {unsolved} others gained"
    if solved.retained_unchanged is not None:
        lost += f" (by chance {solved.solved_by_base * (1 - solved.retained_unchanged):.1f})"
    if solved.new_unchanged is not None:
        new += f" ({unsolved * solved.new_unchanged:.1f})"
    return f"{lost}, {new}."


def _consensus(measures: Sequence[Measure]) -> Iterator[str]:
    if measures:
        gain, rise = ((x.change.low > 0) - (x.change.high < 0) for x in measures)
        answer = "Yes" if gain > 0 > rise else "No" if gain < 0 or rise > 0 else "Not shown"
        pairs = zip(measures, (gain, rise), strict=True)
        words = (f"{x.name} {x.base.value:.3f} to {x.run.value:.3f} ({_SIGNS[sign]})" for x, sign in pairs)
        yield f"Did consensus gain while coverage fell? {answer}: {', '.join(words)}."


def _answers_left(left: AnswersLeft | None) -> Iterator[str]:
    # Where the base's agree too, a question has one true answer, and there is nothing to lose.
    if left is not None and left.base.value < ONE:
        one = "One correct answer a prompt left" if left.run.value >= ONE else "Correct answers"
        agree = f"two agree in {left.run.value:.3f} (base {left.base.value:.3f})"
        yield f"{one}: {agree}, on {left.prompts} prompts."
        new = f"{left.new:.3f} are new to the base (by chance {left.new_by_chance:.3f})"
        yield f"{new}; its likeliest leads on {left.led} of {left.clear}."


def _uniform_groups(measures: Sequence[Measure]) -> Iterator[str]:
    if measures and measures[0].name.startswith(GROUPS.partition("{")[0]):
        name = f"G{measures[0].name[1:]}"
        yield f"{name}: {measures[0].base.value:.3f} before, {measures[0].run.value:.3f} after."


def _shift(comparison: "Comparison") -> str:
    """Sentence on the beta of a reverse KL with this shift of the log odds, or why there is none."""
    shift = comparison.gain
    if comparison.single:
        return "One answer a prompt gives only means: no shift of the log odds is identified."
    if not shift.identified:
        finite = shift.informative and abs(shift.pooled.value) < float("inf")
        why = "every prompt says the same" if finite else "on every prompt a side is always or never correct"
        return f"No log odds are compared: {why}."
    if not shift.changed:
        return f"No change of the pass rates is established ({p_value_text(shift.p_no_change)})."
    if beta := shift.beta:
        return f"All log odds rise alike, as at a reverse-KL optimum: beta {beta}."
    if shift.p_one_shift >= 0.05:
        return f"All log odds move alike, by {shift.pooled}: no rise, so no beta."
    uneven = p_value_text(shift.p_one_shift)
    return f"No beta of a reverse KL fits: log odds of prompts move unequally ({uneven})."


def _fall(comparison: "Comparison") -> str:
    # From k beyond half the answers on, whoever is solved at all counts nearly as one.
    most = max(comparison.answers[0], comparison.curves.k[-1])
    half = [part for part in comparison.parts if 2 * part.k <= most] or list(comparison.parts)
    least = min(half, key=lambda part: part.change.value)
    if least.change.high >= 0:
        return "No fall of Pass@k is established at the k of the table."
    parts = f"{least.solved_set.value:+.3f} by lost prompts, {least.narrowing.value:+.3f} by rarer answers"
    return f"Pass@{least.k} falls by {-least.change.value:.3f}: {parts}."


def curve_table(curves: PassCurves, most: int = MOST_KS) -> Table:
    """Tabulate Pass@k of both checkpoints at up to `most` values of k, with difference, band and sign."""
    shown = [k for k in shown_ks(curves.k[-1]) if k in curves.k] if len(curves.k) > most else [*curves.k]
    while len(shown) > max(most, 2):
        shown = [*shown[:-1:2], shown[-1]]
    columns = zip(curves.k, curves.base, curves.run, curves.difference, curves.low, curves.high, strict=True)
    guesses = [curves.possible_answers] if curves.possible_answers else []
    rows = (
        (
            *(k, f"{base:.3f}", f"{run:.3f}", "{:+.3f} [{:+.3f}, {:+.3f}]".format(*gap), _sign(curves, k)),
            *(f"{guess_at(k, possible):.3f}" for possible in guesses),
        )
        for k, base, run, *gap in columns
        if k in shown
    )
    head = ("k", "base", "trained", "change", "trained is", *(f"guess of {x}" for x in guesses))
    return Table.from_rows(head, rows, "Pass@k; intervals hold at all k at once (95%)")


def _shift_table(comparison: "Comparison") -> Table:
    solved, shift = comparison.solved, comparison.gain
    pooled = shift.pooled if shift.identified else None
    rows = (
        ("share retained of prompts that the base solves", solved.retained, solved.retained_unchanged),
        ("share newly solved of the others", solved.new, solved.new_unchanged),
        ("lost prompts that as many answers more would solve", solved.lost_again, None),
        ("log odds ratio over all prompts (Mantel-Haenszel)", pooled, 0.0),
        (f"p, lost against newly solved ({solved.lost}, {solved.gained})", solved.p_value, None),
        ("p, no change of any prompt's rate", shift.p_no_change, None),
        ("p, one shift of the log odds of all prompts", shift.p_one_shift, None),
        ("beta of the reverse-KL optimum with this shift", shift.beta, None),
    )
    identified = (row for row in rows if row[1] is not None)
    return Table.from_rows(("prompts", "run", "if unchanged"), identified, "Prompts")


def tables(comparison: "Comparison") -> list[Table]:
    """Tabulate Pass@k and the parts of its change, prompts, policies, KL, and further measures."""
    alone = "(this k alone)"
    shown = (
        curve_table(comparison.curves),
        Table.from_rows(
            ("k", f"change {alone}", f"newly solved minus lost {alone}", f"both solve {alone}"),
            ((p.k, p.change, p.solved_set, p.narrowing) for p in comparison.parts),
            "Parts of the change of Pass@k",
        ),
        _shift_table(comparison),
        _moved_table("fell", comparison.fell),
        _moved_table("rose", comparison.rose),
        _kl_table(comparison),
        *requested(comparison, everything=True),
    )
    return [table for table in shown if table.rows]


def requested(comparison: "Comparison", everything: bool = False) -> list[Table]:
    """Table of the further measures that options asked for, or of all; [] if there are none."""
    head = ("measure", "prompts", "base", "run", "change (each alone; of categories all at once)")
    measures = (*comparison.measures, *comparison.consensus)
    shown = (m for m in measures if everything or m.on_request)
    rows = [(m.name, m.prompts, m.base, m.run, m.change) for m in shown]
    return [Table.from_rows(head, rows, "Further measures")] if rows else []


def _moved_table(verb: str, prompts: Sequence[ChangedPrompt]) -> Table:
    rows = ((shortened(prompt.id), prompt.before, prompt.after) for prompt in prompts[:_SHOWN])
    title = f"{len(prompts)} prompts that {verb}, beyond chance"
    return Table.from_rows(("prompt", "before", "after"), rows, title)


def _kl_table(comparison: "Comparison") -> Table:
    spent = comparison.spending
    if spent is None:
        return Table((), ())
    parts = {
        "KL(run || base), nats": spent.total,
        "minimum at these pass rates": spent.least,
        "excess": spent.excess,
        "excess among correct answers": spent.correct,
        "excess among incorrect answers": spent.incorrect,
    }
    title = f"The KL over {spent.prompts} prompts"
    title += f", without {spent.left_out} that the base solves always or never" if spent.left_out else ""
    rows = ((name, part) for name, part in parts.items() if part is not None)
    return Table.from_rows(("part", "mean over prompts"), rows, title)
