"""A comparison in sentences of a line each, and in tables."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ..support.table import Table, printable
from .answers import ONE, AnswersLeft
from .measures import Measure, UniformGroups
from .pass_at_k import PassCurves, SampleNeeded, shown_ks
from .prompts import ChangedPrompt

if TYPE_CHECKING:
    from .comparison import Comparison

_SHOWN, MOST_KS = 12, 7
"""The most prompts of a kind, and k, that a table shows."""
_LONGEST_ID, _LONGEST_NAME = 60, 24
_SIGNS = {1: "better", 0: "unsure", -1: "worse"}


def sentences(comparison: "Comparison") -> tuple[str, ...]:
    r"""What was compared, Pass@k, which prompts and answers are left, which policy, what a fall is made of.

    Parameters: `comparison`, from `compare`. Returns sentences, of a terminal's line each.

    >>> print(*sentences(comparison), sep="\n")  # doctest: +SKIP
    """
    first = (_head(comparison), *_pass_at_k(comparison.curves), _solved_prompts(comparison))
    left = (*_consensus(comparison.consensus), *_answers_left(comparison.answers_left))
    left = (*left, *_uniform_groups(comparison.groups))
    return (*first, *left, *_closest_policy(comparison), _fall(comparison))


def _head(comparison: "Comparison") -> str:
    """Sentences on the compared files and their columns."""
    answers = " to ".join(map(str, sorted({*comparison.answers})))
    run, base = (shortened(side.name, _LONGEST_NAME) for side in (comparison.run, comparison.base))
    head = f"{run} against {base}: {comparison.prompts} prompts"
    head += f", {answers} answer{'s' * (answers != '1')} to each"
    columns = dict.fromkeys((comparison.run.columns, comparison.base.columns))
    return f"{'; '.join(filter(None, (head, *map(shortened, columns))))}."


def p_value_text(p_value: float) -> str:
    """A p-value as it is printed."""
    return "p < 1e-10" if p_value < 1e-10 else f"p = {p_value:.2g}"


def shortened(text: str, longest: int = _LONGEST_ID) -> str:
    """A name on one line, cut where it is long, with nothing that a terminal obeys."""
    line, half = printable(" ".join(text.split())), (longest - 3) // 2
    # What tells names apart stands at their end as often as at their beginning.
    return line if len(line) <= longest else f"{line[: longest - 3 - half]}...{line[-half:]}"


def _pass_at_k(curves: PassCurves) -> Iterator[str]:
    first, last = (
        f"from {curves.base[i]:.3f} to {curves.run[i]:.3f} ({_sign(curves, curves.k[i])})" for i in (0, -1)
    )
    further = f", Pass@{curves.k[-1]} {last}" if len(curves.k) > 1 else ""
    yield f"Pass@{curves.k[0]} goes {first}{further}."
    if curves.first_worse is not None and curves.first_worse[1] is not None:
        yield f"Worse from a k between {curves.first_worse[0]} and {curves.first_worse[1]} on."


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
    """True if the commonest answer became right more often while fewer prompts are solved at all."""
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


def _uniform_groups(groups: UniformGroups | None) -> Iterator[str]:
    if groups is None:
        return
    if groups.uniform >= ONE:
        share = f"{groups.uniform:.3f}"
        yield f"Pass@{groups.answers} = Pass@1: on {share} of the prompts all answers are alike."
    else:
        shares = f"{groups.base:.3f} before, {groups.run:.3f} after"
        yield f"Groups of {groups.size} all correct or all incorrect: {shares}."


def _closest_policy(comparison: "Comparison") -> Iterator[str]:
    """The closest optimum, how far from fitting; why none, where it is rejected or not identified."""
    reason = _no_closest_policy(comparison)
    if reason or comparison.best is None:
        yield reason
        return
    best = comparison.best
    policy = best.policy.replace(", advantages std-normalised (groups of ", ", std-normalised (G = ")
    policy = policy.replace(", advantages", ",")
    beta = f", beta {best.beta.value:.2g} [{best.beta.low:.2g}, {best.beta.high:.2g}]" if best.beta else ""
    yield f"Closest KL-regularised optimum: {policy}{beta}."
    behind = f"{-best.held_out.value:.2g} nats a prompt behind a shift of each prompt's own"
    rank = "none predicts better" if best == comparison.policies[0] else behind
    yield f"On answers held out {rank}; of a run without a KL it is no cause."


def _no_closest_policy(comparison: "Comparison") -> str:
    """Why no stationary policy is named; empty where one is."""
    shift = comparison.gain
    if comparison.single:
        return "One answer a prompt gives only means: no KL-regularised optimum is identified."
    if not shift.identified:
        finite = shift.informative and abs(shift.pooled.value) < float("inf")
        why = "every prompt says the same" if finite else "at every prompt one is always correct, or never"
        return f"No KL optimum is identified: {why}."
    if comparison.best is None:
        return f"No change is not rejected ({p_value_text(shift.p_no_change)}): no optimum is fitted."
    if comparison.best.rejected:
        return "No single KL-regularised optimum fits: prompts move by amounts of their own."
    return ""


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
    """Pass@k of both at most so many k, the difference with its band, and its sign."""
    shown = [k for k in shown_ks(curves.k[-1]) if k in curves.k] if len(curves.k) > most else [*curves.k]
    while len(shown) > max(most, 2):
        shown = [*shown[:-1:2], shown[-1]]
    columns = zip(curves.k, curves.base, curves.run, curves.difference, curves.low, curves.high, strict=True)
    rows = (
        (k, f"{base:.3f}", f"{run:.3f}", "{:+.3f} [{:+.3f}, {:+.3f}]".format(*gap), _sign(curves, k))
        for k, base, run, *gap in columns
        if k in shown
    )
    title = "Pass@k; intervals hold at all k at once (95%)"
    return Table.from_rows(("k", "base", "trained", "change", "trained is"), rows, title)


def _shift_table(comparison: "Comparison") -> Table:
    solved, shift = comparison.solved, comparison.gain
    pooled = shift.pooled if shift.identified else None
    rows = (
        ("share kept of prompts that the base solves", solved.retained, solved.retained_unchanged),
        ("share newly solved of the others", solved.new, solved.new_unchanged),
        ("lost prompts that as many answers more would solve", solved.lost_again, None),
        ("log odds ratio over all prompts (Mantel-Haenszel)", pooled, 0.0),
        (f"p, lost against newly solved ({solved.lost}, {solved.gained})", solved.p_value, None),
        ("p, no change of any prompt's rate", shift.p_no_change, None),
    )
    identified = (row for row in rows if row[1] is not None)
    return Table.from_rows(("prompts", "run", "if unchanged"), identified, "Prompts")


def tables(comparison: "Comparison") -> list[Table]:
    """Pass@k and what its change is made of, prompts, policies, KL, further measures: those with rows."""
    alone = "(this k alone)"
    return _with_rows(
        curve_table(comparison.curves),
        Table.from_rows(
            ("k", f"change {alone}", f"newly solved less lost {alone}", f"both solve {alone}"),
            ((p.k, p.change, p.solved_set, p.narrowing) for p in comparison.parts),
            "What the change of Pass@k is made of",
        ),
        _shift_table(comparison),
        Table.from_rows(
            ("KL-regularised optimum", "beta", "held-out answers, nats a prompt below the best"),
            ((x.policy, x.beta, x.held_out) for x in comparison.policies),
            "KL-regularised optima",
        ),
        _moved_table("fell", comparison.fell),
        _moved_table("rose", comparison.rose),
        _kl_table(comparison),
        *requested(comparison, everything=True),
    )


def requested(comparison: "Comparison", everything: bool = False) -> list[Table]:
    """What is printed because it was asked for: Pass@k by category, power; or every measure."""
    head = ("measure", "prompts", "base", "run", "change (each alone; of categories all at once)")
    measures = (*comparison.measures, *comparison.consensus)
    shown = (m for m in measures if everything or m.on_request)
    rows = ((m.name, m.prompts, m.base, m.run, m.change) for m in shown)
    by_difference = groupby(comparison.needed, key=lambda line: (line.difference, line.k))
    power = [_power_table([*lines], comparison.prompts) for _, lines in by_difference]
    return _with_rows(Table.from_rows(head, rows, "Further measures"), *power)


def _moved_table(verb: str, prompts: Sequence[ChangedPrompt]) -> Table:
    rows = ((shortened(prompt.id), prompt.before, prompt.after) for prompt in prompts[:_SHOWN])
    title = f"{len(prompts)} prompts that {verb}, beyond chance"
    return Table.from_rows(("prompt", "before", "after"), rows, title)


def _power_table(samples: Sequence[SampleNeeded], prompts: int) -> Table:
    head = ("answers to each", "prompts needed", f"least difference that {prompts} prompts detect")
    rows = ((sample.n, sample.prompts, sample.detectable) for sample in samples)
    title = f"To detect a difference of {samples[0].difference:g} in Pass@{samples[0].k} with 80% power"
    return Table.from_rows(head, rows, title)


def _with_rows(*tables: Table) -> list[Table]:
    return [table for table in tables if table.rows]


def _kl_table(comparison: "Comparison") -> Table:
    spent = comparison.spending
    if spent is None:
        return Table((), ())
    parts = {
        "KL(run || base), nats": spent.total,
        "least at these pass rates": spent.least,
        "excess": spent.excess,
        "excess among correct answers": spent.correct,
        "excess among incorrect answers": spent.incorrect,
    }
    title = f"The KL over {spent.prompts} prompts"
    title += f", less {spent.left_out} that the base solves always or never" if spent.left_out else ""
    rows = ((name, part) for name, part in parts.items() if part is not None)
    return Table.from_rows(("part", "mean over prompts"), rows, title)
