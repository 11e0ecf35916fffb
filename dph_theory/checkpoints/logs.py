"""From rows of answers to counts by prompt: which column says what is correct, and what its values say.

A column is one of verdicts only if its name or its values say so. What is not certain is asked for once,
with the option that answers it.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Any, NamedTuple

from ..support.errors import argument_error, choice
from .counts import MOST_ANSWERS, ROUNDED, is_number, snapped
from .shapes import LoggedRow, Shape, is_answers

_WORDS = {
    **dict.fromkeys(("pass", "passed", "correct", "true", "yes", "c"), 1.0),
    **dict.fromkeys(("fail", "failed", "incorrect", "wrong", "false", "no", "timeout", "i", "n"), 0.0),
    "p": 0.5,
}
"""Verdicts in words, and Inspect's grades as its own metrics count them: C, partial, I, no answer."""
_FRACTION = re.compile(r"(\d+) ?/ ?(\d+)")
_OF_MANY = re.compile(
    r"(maj|cons|best|worst|majority)[@_^]|pass[@^](?!1(?!\d)|k:k=1(?!\d))|pass_at_(?!1(?!\d))"
)
"""Numbers of a prompt's answers together, from which no count of correct ones follows."""
_RATE = re.compile(
    r"(pass|solve|success|correct|accept|win)\w*_rate|pass(@|_at_)1(?!\d)|pass@k:k=1(?!\d)|(avg|mean)@|_avg$"
)
_RATE_OF = re.compile(r"n=(\d+)|(?:avg|mean)@(\d+)")
_CORRECT = re.compile(
    r"correct|accura|(^|[^a-z])(acc|em|ok|hit|right)([^a-z]|$)|pass(ed)?([^a-z]|$)|resolved|solved|success"
    r"|match|grade|verdict"
)
_REWARD = re.compile(r"reward|score")
_OTHER = re.compile(
    r"(^|[._])(id|idx|index|step|epoch|seed|run|turn|rank|fold|level|n|k|len|length|version)(s|es)?$"
    r"|_(ms|tokens|count)$|incorrect|wrong|error|fail|unresolved|invalid|format|temperature|trunc|finish"
    r"|answer|target|truth|gold|solution|expected|reference|pred|label|output|response|completion|advantage"
)
"""Names of columns that hold no verdict, also where their values are 0 and 1."""
UNSCORED = ("wrong", "omit")
"""What may be made of answers without a verdict."""
_LISTED = 5
"""So many lines, values and names are listed one by one."""


@dataclass
class Asked:
    """What rows leave open, and the option that would answer it."""

    reasons: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)

    def add(self, reason: str, option: str) -> None:
        """Note a question with its answer, as it is written on the command line."""
        self.reasons.append(reason)
        self.options.append(option)

    def refuse(self) -> None:
        """Raise ValueError if anything was left open."""
        if self.reasons:
            raise ValueError(f"{'; '.join(self.reasons)}: add {' '.join(self.options)}")


@dataclass(frozen=True)
class ReadingOptions:
    """How rows are read, where they do not say it by themselves.

    `reward`, the column that says what is correct: a verdict or a reward, one or a list of them, a share of
    `n` answers, or "3/16"; `correct_from`, the least reward of a correct answer, by default 1 of two values;
    `unscored`, "wrong" or "omit", what is made of answers without a verdict, which are otherwise an error;
    `column`, that of the prompt; `answer`, that of what was said; `by`, the field of counts that holds a
    prompt's category; `prompts`, which set of a folder of `dph evaluate`, by default the only one.
    """

    reward: str | None = None
    correct_from: float | None = None
    unscored: str | None = None
    by: str | None = None
    column: str | None = None
    answer: str | None = None
    n: int | None = None
    prompts: str | None = None

    def __post_init__(self) -> None:
        if self.unscored is not None:
            choice("unscored", self.unscored, UNSCORED)


def _value(cell: Any) -> Any:
    """A cell as a number where it is one or a word for one, a fraction as (c, n); else as it is."""
    if isinstance(cell, str):
        if (parts := _FRACTION.fullmatch(cell.strip())) and int(parts[1]) <= int(parts[2]):
            return int(parts[1]), int(parts[2])
        return _WORDS.get(cell.strip().lower(), cell)
    return cell


def _rank(name: str, cells: Sequence[Any]) -> int | None:
    """How surely a column says what is correct: 0 by its name, 1 as a reward, 2 by its values."""
    lower, entries = name.lower(), [x for cell in cells for x in (cell if isinstance(cell, list) else [cell])]
    values = [_value(entry) for entry in entries if entry is not None and entry == entry]
    numbers = bool(values) and all(isinstance(x, tuple) or is_number(x) for x in values)
    if not numbers or _OF_MANY.search(lower) or _OTHER.search(lower):
        return None
    plain = [x for x in values if not isinstance(x, tuple)]
    if _RATE.search(lower) or _CORRECT.search(lower):
        return 0 if all(-1 <= x <= 1 for x in plain) else None
    if _REWARD.search(lower):
        return 1
    # A number that is always 0 or always 1 may be anything; a truth value, a word or a fraction is none.
    given = not any(type(x) in (int, float) for x in entries)
    return 2 if given or set(plain) == {0, 1} else None


def verdict_column(shape: Shape, rows: Sequence[LoggedRow], requested: str | None, asked: Asked) -> str:
    """The column of verdicts: the one asked for, else the one whose name, or values, say most surely so."""
    by_name: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        for name, cell in row.cells.items():
            by_name[name].append(cell)
    if requested is not None:
        # A metric without its filter is the metric of the only filter.
        fitting = [n for n in by_name if n == requested] or [
            n for n in by_name if n.partition(",")[0] == requested
        ]
        if len(fitting) != 1:
            names = ", ".join(sorted(by_name))
            raise argument_error("reward", requested, f"one of the columns {names}")
        if _OF_MANY.search(fitting[0].lower()):
            raise argument_error(
                "reward", fitting[0], "a verdict on each answer; this is one of many together"
            )
        return fitting[0]
    possible = {name: 0 if name in shape.verdicts else _rank(name, cells) for name, cells in by_name.items()}
    ranks = {name: rank for name, rank in possible.items() if rank is not None}
    if not ranks:
        shown = ", ".join([*by_name][:12]) or "none"
        raise ValueError(f"no column says what is correct (columns: {shown}); name it: --correct COLUMN")
    surest = [name for name, rank in ranks.items() if rank == min(ranks.values())]
    surest = [n for i, n in enumerate(surest) if by_name[n] not in [by_name[m] for m in surest[:i]]]
    if len(surest) > 1:
        asked.add(f"{', '.join(surest[:_LISTED])} may say what is correct", f"--correct {quote(surest[0])}")
    return surest[0]


class _Judged(NamedTuple):
    """Of a row: its n answers, c of them correct, and where it has them the verdicts and what they say."""

    row: LoggedRow
    n: int
    c: int
    verdicts: list[int] | None = None
    texts: list[Any] | None = None


def prompt_counts(
    shape: Shape, rows: Sequence[tuple[int, LoggedRow]], options: ReadingOptions, asked: Asked
) -> tuple[list[dict[str, Any]], str, tuple[str, ...]]:
    """One row of counts a prompt, the column of verdicts, and what is to be said of its values.

    Raises ValueError for values that say nothing, and once for all that is left open, with what was `asked`.
    """
    notes = list[str]()
    column = verdict_column(shape, [row for _, row in rows], options.reward, asked)
    rows = [(at, row) for at, row in rows if column in row.cells or not shape.partial]
    entries = [_entry(column, at, row, shape.tokens) for at, row in rows]
    values = [x for entry in entries for x in entry if isinstance(x, float)]
    single = all(len(entry) == 1 for entry in entries)
    if single and values and _RATE.search(column.lower()) and all(0 <= x <= 1 for x in values):
        judged = _of_rates(column, rows, [entry[0] or 0.0 for entry in entries], options.n, asked)
    else:
        judged = _of_verdicts(column, rows, entries, options, asked, notes)
        if single and shape.drawn and (drawn := max((row.drawn for _, row in rows), default=1)) > 1:
            notes.append(f"{column} is of one of {drawn} answers drawn to each: the others are in no number")
    asked.refuse()
    return _by_prompt(judged, notes), column, tuple(notes)


def _entry(column: str, at: int, row: LoggedRow, tokens: bool) -> list[Any]:
    """What a row's cell says of its answers: a number or None for each, or (c, n) of several."""
    cell = row.cells.get(column)
    if isinstance(cell, list) and tokens:
        cell = sum(cell)
    if isinstance(cell, list) and not is_answers(cell, row):
        allowed = f"a verdict an answer: {len(cell)} numbers beside one answer are those of its tokens"
        raise argument_error(column, cell[:_LISTED], allowed)
    values = [_value(x) for x in (cell if isinstance(cell, list) else [cell])]
    for value in values:
        if not (value is None or isinstance(value, tuple | float | int)):
            raise argument_error(column, value, f"a number, or a word such as pass (line {at})")
    return [x if isinstance(x, tuple) else snapped(float(x)) if is_number(x) else None for x in values]


def _of_rates(
    column: str, rows: Sequence[tuple[int, LoggedRow]], shares: Sequence[float], n: int | None, asked: Asked
) -> list[_Judged]:
    """The counts behind shares of correct answers, of a number that an option, the name or a column says."""
    named = next((int(a or b) for a, b in _RATE_OF.findall(column)), 0)
    answers = [n or named or row.drawn for _, row in rows]
    if not all(answers):
        fits = (
            n for n in range(1, MOST_ANSWERS) if all(abs(x * n - round(x * n)) < 1e-4 * n for x in shares)
        )
        asked.add(f"{column} is a share of a number of answers that no column has", f"--n {next(fits)}")
    judged = []
    for (at, row), n, share in zip(rows, answers, shares, strict=True):
        if n and not _is_share(share, n, 0.01 + 0.001 * n):
            raise argument_error("n", n, f"the number of answers behind {column}, {share:g} at line {at}")
        judged.append(_Judged(row, n, round(share * n)))
    return judged


def _is_share(share: float, n: int, error: float) -> bool:
    return abs(share * n - round(share * n)) <= error


def _of_verdicts(
    column: str,
    rows: Sequence[tuple[int, LoggedRow]],
    entries: Sequence[Sequence[Any]],
    options: ReadingOptions,
    asked: Asked,
    notes: list[str],
) -> list[_Judged]:
    """The counts of answers with a verdict each, or with (c, n) of several."""
    lines = [(at, row, entry) for (at, row), entry in zip(rows, entries, strict=True)]
    without = [f"{at} ({row.reason})" if row.reason else f"{at}" for at, row, entry in lines if None in entry]
    if without and options.unscored is None:
        more = f" and {len(without) - _LISTED} more" if len(without) > _LISTED else ""
        reason = f"lines {', '.join(without[:_LISTED])}{more} have no number in column {column!r}"
        reason += " (wrong counts such answers as incorrect, omit leaves them out)"
        asked.add(reason, "--unscored wrong")
    elif without:
        fate = "counted as incorrect" if options.unscored == "wrong" else "left out"
        notes.append(f"{sum(entry.count(None) for entry in entries)} answers without a reward are {fate}")
    values = [x for entry in entries for x in entry if isinstance(x, float)]
    least = _least_correct(column, values, options.correct_from, asked, notes) if values else 1.0
    judged = []
    for _, row, entry in lines:
        if entry and isinstance(entry[0], tuple):
            judged.append(_Judged(row, entry[0][1], entry[0][0]))
            continue
        said = row.texts.get(column, row.texts.get(""))
        texts = said if isinstance(said, list) and len(said) == len(entry) > 1 else [said] * len(entry)
        used = [i for i, x in enumerate(entry) if x is not None or options.unscored != "omit"]
        verdicts = [int(entry[i] is not None and entry[i] >= least) for i in used]
        judged.append(_Judged(row, len(used), sum(verdicts), verdicts, [texts[i] for i in used]))
    return judged


def _by_prompt(judged: Sequence[_Judged], notes: list[str]) -> list[dict[str, Any]]:
    """One row a prompt; of one text with several truths each is a prompt."""
    truths: dict[str, set[str]] = defaultdict(set)
    for part in judged:
        truths[_identity(part.row)].add(part.row.truth)
    if split := [len(several) for several in truths.values() if len(several) > 1]:
        notes.append(f"{len(split)} texts have several truths: they are {sum(split)} prompts")
    by_prompt: dict[str, list[_Judged]] = defaultdict(list)
    for part in judged:
        name = _identity(part.row)
        by_prompt[f"{name} (truth: {part.row.truth})" if len(truths[name]) > 1 else name].append(part)
    rows = []
    for prompt, parts in by_prompt.items():
        row: dict[str, Any] = {"id": prompt, "n": sum(p.n for p in parts), "c": sum(p.c for p in parts)}
        if not row["n"]:
            continue
        if all(part.verdicts is not None for part in parts):
            row["correct"] = [x for part in parts for x in part.verdicts or ()]
            texts = [x for part in parts for x in part.texts or ()]
            row |= {} if None in texts else {"answer": texts}
        rows.append(row)
    return rows


def _identity(row: LoggedRow) -> str:
    name = row.prompt
    return name if isinstance(name, str) else json.dumps(name, ensure_ascii=False, sort_keys=True)


def _least_correct(
    column: str, values: Iterable[float], requested: float | None, asked: Asked, notes: list[str]
) -> float:
    """The least reward of a correct answer, which is noted with the values unless they are 0 and 1.

    Unasked it is 1, of rewards that have at most two values, the greater being 1, or of which all are one
    value that is no more than 0.
    """
    frequency = Counter(values)
    distinct = sorted(frequency)
    listing = ", ".join(f"{value:.6g} ({frequency[value]})" for value in distinct[:_LISTED])
    if len(distinct) > _LISTED:
        listing += f", ... {distinct[-1]:.6g}: {len(distinct)} values"
    binary, all_wrong = len(distinct) <= 2 and distinct[-1] == 1, len(distinct) == 1 and distinct[0] <= 0
    if requested is None and not (binary or all_wrong):
        asked.add(f"{column} has the values {listing}", f"--correct-from {distinct[-1]:.6g}")
    least = 1.0 if requested is None else requested
    if requested is not None or not {*distinct} <= {0, 1}:
        notes.append(f"rewards {listing}, correct from {least:g} on")
    return least - ROUNDED
