"""Counts by prompt from logs with one row per answer. The column of rewards must be named or known.

Everything that rows leave open is asked for once, with the option that answers it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..support.errors import argument_error, choice
from .counts import MOST_ANSWERS, ROUNDED, is_number, snapped
from .shapes import NAMES, WORDS, Answers, LoggedRow, RecordFormat

_FRACTION = re.compile(r"(\d+) ?/ ?(\d+)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")
_LISTED, _HARDLY = 5, 3
"""Lines, values and names that a message lists; rank from which a column is asked for."""
Questions: TypeAlias = dict[str, str]
"""Open questions, by the option that would answer them."""


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading rows that do not explain themselves.

    Attributes:
        reward: Column of rewards: one per row, a list, a share of `n` answers, or "3/16".
        correct_from: Least reward of a correct answer; by default 1, if rewards have two values.
        unscored: "wrong" or "omit", for answers without a reward; otherwise they are an error.
        by: Field of counts with a prompt's category.
        column, answer: Columns of the prompt and of the answer's text.
        n: Answers behind each share.
        prompts: Set of a folder of `dph evaluate`; by default the only one.
    """

    reward: str | None = None
    correct_from: float | None = None
    unscored: str | None = None
    by: str | None = None
    column: str | None = None
    answer: str | None = None
    n: int | None = None
    prompts: str | None = None


def _value(cell: Any) -> Any:
    """Cell as a number, a fraction "3/8" as (c, n), or a word for correct or incorrect as a number."""
    if not isinstance(cell, str):
        return snapped(float(cell)) if is_number(cell) else None if isinstance(cell, float) else cell
    if (parts := _FRACTION.fullmatch(cell.strip())) and int(parts[1]) <= int(parts[2]):
        return int(parts[1]), int(parts[2])
    if parts := _PERCENT.fullmatch(cell.strip()):
        return snapped(float(parts[1]) / 100)
    return WORDS.get(cell.strip().lower(), cell)


def _rank(name: str, cells: Sequence[Any]) -> int | None:
    """Rank of a column as rewards: 0 by its name, 1 named reward, 2 by values, 3 hardly; else None."""
    entries = [x for cell in cells for x in (cell if isinstance(cell, list) else [cell])]
    values = [value for entry in entries if (value := _value(entry)) is not None]
    numbers = [x for x in values if isinstance(x, float)]
    if not values or not all(isinstance(x, float | tuple) for x in values) or _says("of_many|other", name):
        return None
    if _says("rate|correct", name):
        return 0 if all(-1 <= x <= 1 for x in numbers) else None
    if _says("reward", name):
        return 1
    if all(isinstance(entry, str) for entry in entries) or any(isinstance(cell, Answers) for cell in cells):
        return 2
    return 3 if {*numbers} == {0, 1} or all(isinstance(entry, bool) for entry in entries) else None


def _says(kinds: str, name: str) -> bool:
    """True if a column's name matches one of the kinds in NAMES, given as "rate|correct"."""
    return any(NAMES[kind].search(name.lower()) for kind in kinds.split("|"))


def reward_column(
    shape: RecordFormat, rows: Sequence[LoggedRow], requested: str | None, questions: Questions
) -> str:
    """Return the column of rewards: the requested one, else the one of the best rank.

    Raises:
        ValueError: If the requested column is missing or no column has a rank.
    """
    names = dict.fromkeys(name for row in rows for name in row.cells)
    by_name = {name: [row.cells[name] for row in rows if name in row.cells] for name in names}
    if requested is not None:
        # A metric without its filter is the metric of the only filter.
        fitting = [n for n in by_name if n == requested or n.partition(",")[0] == requested]
        chosen = requested if requested in fitting else fitting[0] if len(fitting) == 1 else ""
        if not chosen:
            raise argument_error("reward", requested, f"one of the columns {', '.join(sorted(by_name))}")
        if _says("of_many", chosen):
            raise argument_error("reward", chosen, "a reward on an answer; this is one on many together")
        return chosen
    possible = {name: 0 if name in shape.rewards else _rank(name, cells) for name, cells in by_name.items()}
    ranks = {name: rank for name, rank in possible.items() if rank is not None}
    if not ranks:
        shown = ", ".join([*by_name][:12]) or "none"
        way = "name it with --correct COLUMN; means say nothing by prompt"
        raise ValueError(f"no column says what is correct (columns: {shown}): {way}")
    surest = [name for name, rank in ranks.items() if rank == min(ranks.values())]
    surest = [n for i, n in enumerate(surest) if by_name[n] not in [by_name[m] for m in surest[:i]]]
    # Beside shares of several answers a column of 0 and 1 says whether any is correct.
    surest.sort(
        key=lambda name: not any(0 < x < 1 for x in map(_value, by_name[name]) if isinstance(x, float))
    )
    if len(surest) > 1 or min(ranks.values()) == _HARDLY:
        questions[f"--correct {quote(surest[0])}"] = f"{', '.join(surest[:_LISTED])} may say what is correct"
    return surest[0]


_Line: TypeAlias = tuple[int, LoggedRow, list[Any]]


class _Judged(NamedTuple):
    """Counts of a row, with the rewards and texts of its answers if it has them."""

    row: LoggedRow
    n: int
    c: int
    rewards: list[int] | None = None
    texts: list[Any] | None = None


def prompt_counts(
    shape: RecordFormat, rows: Sequence[tuple[int, LoggedRow]], options: ReadingOptions, questions: Questions
) -> tuple[list[dict[str, Any]], str, tuple[str, ...]]:
    """Count the correct answers to each prompt.

    Args:
        shape: Format of the rows.
        rows: Line and content of each row.
        options: Options for reading them.
        questions: Open questions, to which those about rewards are added.

    Returns:
        One row of counts per prompt, the column of rewards, and notes on its values.

    Raises:
        ValueError: If values cannot be read, or questions are open.
    """
    if options.unscored:
        choice("unscored", options.unscored, ("wrong", "omit"))
    notes = list[str]()
    column = reward_column(shape, [row for _, row in rows], options.reward, questions)
    rows = [(at, row) for at, row in rows if column in row.cells or not shape.partial]
    lines = [(at, row, _entry(column, at, row, shape.tokens)) for at, row in rows]
    _ask_for_missing(column, lines, options.unscored, questions, notes)
    values = [x for *_, entry in lines for x in entry if isinstance(x, float)]
    single, omit = all(len(entry) == 1 for *_, entry in lines), options.unscored == "omit"
    if single and values and all(0 <= x <= 1 for x in values) and _is_share(shape, column, lines, options):
        shares = [(row, x or 0.0) for _, row, (x,) in lines if x is not None or not omit]
        judged = _of_rates(column, shares, options.n, questions)
    else:
        least = _least_correct(column, values, options.correct_from, questions, notes) if values else 1.0
        judged = [_of_row(row, column, entry, least, omit) for _, row, entry in lines]
        if single and shape.drawn and (drawn := max((row.drawn for _, row in rows), default=1)) > 1:
            notes.append(f"{column} is of one of {drawn} answers drawn to each: the others are in no number")
    if questions:
        raise ValueError(f"{'; '.join(questions.values())}: add {' '.join(questions)}")
    return _by_prompt(judged, notes), column, tuple(notes)


def _is_share(shape: RecordFormat, column: str, lines: Sequence[_Line], options: ReadingOptions) -> bool:
    """True if a column's numbers in [0, 1] are shares of several correct answers, not single rewards.

    An option or the name decides; else values between 0 and 1, if each prompt appears once, in a column of
    correctness, or of rewards if they are shares of the number of answers in another column.
    """
    if options.n is not None or _says("rate", column):
        return True
    once = len({row.prompt for _, row, _ in lines}) == len(lines)
    values = [(row.drawn, x) for _, row, (x,) in lines if isinstance(x, float)]
    if not once or shape.name or options.correct_from is not None or {x for _, x in values} <= {0.0, 1.0}:
        return False
    counted = all(n > 1 and abs(x * n - round(x * n)) < 0.01 for n, x in values)
    return counted or _says("correct", column)


def _entry(column: str, at: int, row: LoggedRow, tokens: bool) -> list[Any]:
    """Rewards of the answers in one row: a number or None for each, or (c, n) for several together."""
    cell = row.cells.get(column)
    if isinstance(cell, list) and tokens and all(map(is_number, cell)):
        cell = sum(cell)
    cells = cell if isinstance(cell, list) else [cell]
    # Numbers of tokens are no rewards: these are truth values or words, or as many as texts, or columns.
    numbers = not isinstance(cell, Answers) and any(isinstance(x, float) for x in cells)
    if isinstance(cell, list) and numbers and len(cell) not in row.lengths:
        allowed = f"a reward an answer: {len(cell)} numbers beside one answer are those of its tokens"
        raise argument_error(column, cell[:_LISTED], allowed)
    values = [_value(x) for x in cells]
    kinds = (float, tuple) if len(values) == 1 else (float,)
    if wrong := [x for x in values if not (x is None or isinstance(x, kinds))]:
        raise argument_error(column, wrong[0], f"a number, or a word such as pass (line {at})")
    return values


def _ask_for_missing(
    column: str, lines: Sequence[_Line], unscored: str | None, questions: Questions, notes: list[str]
) -> None:
    without = [f"{at} ({row.reason})" if row.reason else f"{at}" for at, row, x in lines if None in x]
    if without and unscored is None:
        more = f" and {len(without) - _LISTED} more" if len(without) > _LISTED else ""
        meaning = "wrong counts such answers as incorrect, omit leaves them out"
        lacking = f"lines {', '.join(without[:_LISTED])}{more} have no number in column {column!r}"
        questions["--unscored wrong"] = f"{lacking} ({meaning})"
    elif without:
        fate = "counted as incorrect" if unscored == "wrong" else "left out"
        notes.append(f"{sum(entry.count(None) for *_, entry in lines)} answers without a reward are {fate}")


def _of_rates(
    column: str, shares: Sequence[tuple[LoggedRow, float]], n: int | None, questions: Questions
) -> list[_Judged]:
    named = next((int(a or b) for a, b in NAMES["rate_of"].findall(column)), 0)
    answers, x = [n or named or row.drawn for row, _ in shares], np.array([share for _, share in shares])
    if not all(answers):
        # The least number of which all are shares, but for rounding.
        sizes = (m for m in range(1, MOST_ANSWERS) if (abs(x * m - np.round(x * m)) <= 1e-4 * m).all())
        questions[f"--n {next(sizes)}"] = f"{column} is a share of a number of answers that no column has"
    off = abs(x * answers - np.round(x * answers)) > 0.01 + 0.001 * np.array(answers)
    if off.any():
        i = int(off.argmax())
        raise argument_error("n", answers[i], f"a number of answers of which {column}={x[i]:g} are correct")
    return [_Judged(row, m, round(share * m)) for (row, share), m in zip(shares, answers, strict=True)]


def _of_row(row: LoggedRow, column: str, entry: Sequence[Any], least: float, omit: bool) -> _Judged:
    if entry and isinstance(entry[0], tuple):
        return _Judged(row, entry[0][1], entry[0][0])
    text = row.texts.get(column, row.texts.get(""))
    texts = text if isinstance(text, list) and len(text) == len(entry) > 1 else [text] * len(entry)
    used = [i for i, x in enumerate(entry) if x is not None or not omit]
    rewards = [int(entry[i] is not None and entry[i] >= least) for i in used]
    return _Judged(row, len(used), sum(rewards), rewards, [texts[i] for i in used])


def _by_prompt(judged: Sequence[_Judged], notes: list[str]) -> list[dict[str, Any]]:
    """Rows of counts, one per prompt; equal texts with different true answers are different prompts."""
    truths: dict[str, set[str]] = defaultdict(set)
    by_prompt: dict[str, list[_Judged]] = defaultdict(list)
    for part in judged:
        truths[part.row.prompt].add(part.row.truth)
    if split := [len(several) for several in truths.values() if len(several) > 1]:
        notes.append(f"{len(split)} texts have several truths: they are {sum(split)} prompts")
    for part in judged:
        suffix = f" (truth: {part.row.truth})" if len(truths[part.row.prompt]) > 1 else ""
        by_prompt[part.row.prompt + suffix] += [part] if part.n else []
    rows = []
    for prompt, parts in by_prompt.items():
        row: dict[str, Any] = {"id": prompt, "n": sum(p.n for p in parts), "c": sum(p.c for p in parts)}
        if all(part.rewards is not None for part in parts):
            row["correct"] = [x for part in parts for x in part.rewards or ()]
            texts = [x for part in parts for x in part.texts or ()]
            row |= {} if None in texts else {"answer": texts}
        rows += [row] if row["n"] else []
    return rows


def _least_correct(
    column: str, values: Iterable[float], requested: float | None, questions: Questions, notes: list[str]
) -> float:
    """Smallest reward that counts as correct: `requested`, or 1 if the values are those of 0/1 rewards."""
    frequency = Counter(values)
    distinct = sorted(frequency)
    listing = ", ".join(f"{value:.6g} ({frequency[value]})" for value in distinct[:_LISTED])
    if len(distinct) > _LISTED:
        listing += f", ... {distinct[-1]:.6g}: {len(distinct)} values"
    binary, all_wrong = len(distinct) <= 2 and distinct[-1] == 1, len(distinct) == 1 and distinct[0] <= 0
    if requested is None and not (binary or all_wrong):
        questions[f"--correct-from {distinct[-1]:.6g}"] = f"{column} has the values {listing}"
    least = 1.0 if requested is None else requested
    if requested is not None or not {*distinct} <= {0, 1}:
        notes.append(f"rewards {listing}, correct from {least:g} on")
    return least - ROUNDED
