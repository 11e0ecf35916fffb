"""Logs with a row for each answer, of TRL, verl, lm-eval and Inspect: prompt, rewards, what was said."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..support.errors import argument_error, choice
from .counts import ROUNDED, is_number, snapped

AS_TEXT = ("prompt", "input")
"""Columns whose cells stay text where a table is read; a completion in a table may read as a number."""
_TRL_OWN = (*AS_TEXT, "step", "completion", "advantage")
_VERL_OWN = (*AS_TEXT, "output", "gts", "step", "pred", "uid")
"""The columns of TRL's and of verl's logs that are no rewards."""
_TRUTHS = ("gts", "ground_truth", "solution")
"""Columns of the truth: of one text with several, as of pictures and tables, each is a prompt."""
_WORDS = {
    **dict.fromkeys(("pass", "passed", "correct", "true", "yes"), 1),
    **dict.fromkeys(("fail", "failed", "incorrect", "wrong", "false", "no", "timeout"), 0),
}
"""Verdicts in words."""
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades as its own metrics count them: correct, partial, incorrect, no answer."""
_LONGEST = 80
_MEAN_OF_REPEATS = re.compile(r"pass(@|_at_)1,")
"""lm-eval's metrics that are the mean over all answers drawn."""
UNSCORED = ("wrong", "omit")
"""What may be made of answers without a reward."""
_LISTED = 5
"""So many lines, and values, are listed one by one."""


class LoggedAnswer(NamedTuple):
    """Of a row of a log: the prompt, the columns that may be its reward, what was said, how many were drawn.

    `texts` has what was said by column of rewards, under "" for all of them; `reason` says why a row has no
    reward, where the log does; `truth` what the correct answer is.
    """

    prompt: str
    values: Mapping[str, Any]
    texts: Mapping[str, Any] = MappingProxyType({})
    drawn: int = 1
    reason: str = ""
    truth: str = ""


@dataclass(frozen=True)
class Log:
    """How a trainer's or an evaluation's log is read: its row, and the columns that are taken unasked."""

    answer: Callable[[Mapping[str, Any]], LoggedAnswer | list[LoggedAnswer]]
    known_by: tuple[str, ...]
    """Columns that only such rows hold together."""
    usual: tuple[str, ...] = ()
    by_step: bool = False
    """Whether a folder of them has a file a step."""
    partial: bool = False
    """Whether a row may lack the column: it is of another filter."""

    def read(self, value: Any) -> list[LoggedAnswer]:
        """The answers of a row of it; ValueError for what is none."""
        if not isinstance(value, Mapping):
            raise argument_error("row", value, "an object, an answer")
        answers = self.answer(value)
        return answers if isinstance(answers, list) else [answers]


def _trl(row: Mapping[str, Any]) -> LoggedAnswer:
    """A row of TRL's logged completions, also as a table that wandb exports."""
    values = {name: x for name, x in row.items() if name not in _TRL_OWN}
    return LoggedAnswer(_text(row, "prompt"), values, truth=_truth(row))


def _verl(row: Mapping[str, Any]) -> LoggedAnswer:
    """A row of verl's rollouts or validation; `pred` is the answer where the reward function returned it.

    A prompt is what its uid says, or its text and its truth.
    """
    values = {name: x for name, x in row.items() if name not in _VERL_OWN}
    if row.get("uid"):
        return LoggedAnswer(_text(row, "uid"), values, {"": row.get("pred")})
    return LoggedAnswer(_text(row, "input"), values, {"": row.get("pred")}, truth=_truth(row))


def _lm_eval(row: Mapping[str, Any]) -> LoggedAnswer:
    """A row of lm-eval's samples; a metric is named with its filter, as in its results."""
    form, drawn = row.get("filter", "none"), row.get("resps") or [[None]]
    values = {f"{name},{form}": row.get(name) for name in row.get("metrics", ())}
    text = (row.get("filtered_resps") or [None])[0]
    return LoggedAnswer(_text(row, "doc_id"), values, {"": text}, len(drawn[0]))


def _inspect(row: Mapping[str, Any]) -> LoggedAnswer:
    """A sample of a log of Inspect, an answer for each epoch; grades are numbers as its metrics have them."""
    scores = row.get("scores") or {}
    error = row.get("error") or "it was not scored"
    reason = "" if scores else str(error.get("message") if isinstance(error, Mapping) else error)[:_LONGEST]
    values = {name: _GRADES.get(str(score["value"]), score["value"]) for name, score in scores.items()}
    texts = {name: score.get("answer") for name, score in scores.items()}
    return LoggedAnswer(_text(row, "id"), values, texts, reason=reason)


LOGS = (
    Log(_trl, ("prompt", "completion"), by_step=True),
    Log(_verl, ("input", "output"), usual=("acc", "score"), by_step=True),
    Log(_lm_eval, ("doc_id", "resps"), partial=True),
    Log(_inspect, ("id", "scores")),
)
"""The logs that are read."""


def recognised(row: Any) -> Log | None:
    """The log that a row is of, by the columns that it has; None for a row of counts."""
    # Rows of counts may hold the prompt and more beside.
    if not isinstance(row, Mapping) or {"n", "c"} <= row.keys() or isinstance(row.get("correct"), list):
        return None
    return next((log for log in LOGS if all(column in row for column in log.known_by)), None)


def _text(row: Mapping[str, Any], column: str) -> str:
    prompt = row.get(column)
    if prompt is None:
        raise argument_error("row", row, f"one with {column!r}")
    return prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False, sort_keys=True)


def _truth(row: Mapping[str, Any]) -> str:
    return next((str(row[name]) for name in _TRUTHS if row.get(name) is not None), "")


def _within(row: Any, path: str) -> Any:
    """What a column holds, or a path of names and places with dots between; None where there is none."""
    if isinstance(row, Mapping) and path in row:
        return row[path]
    first, _, rest = path.partition(".")
    if isinstance(row, list) and first.isdigit() and int(first) < len(row):
        row = {first: row[int(first)]}
    inside = row.get(first) if isinstance(row, Mapping) else None
    return inside if not rest else _within(inside, rest)


def log_of_columns(column: str | None, correct: str | None, answer: str | None) -> Log:
    """Rows of no known log by the columns named: each, or what a.0.b leads to, holds one entry or a list."""
    if column is None or correct is None:
        raise argument_error("id, correct", (column, correct), "both named: --id COLUMN --correct COLUMN")

    def listed(row: Mapping[str, Any], name: str) -> Sequence[Any]:
        entry = _within(row, name)
        return entry if isinstance(entry, list | tuple) else [entry]

    def answers(row: Mapping[str, Any]) -> list[LoggedAnswer]:
        names = [name for name in (column, correct, answer) if name is not None]
        if missing := [name for name in names if _within(row, name) is None]:
            raise argument_error("row", sorted(row), f"one with the columns {', '.join(missing)}")
        rewards = listed(row, correct)
        verdicts = [_WORDS.get(x.strip().lower(), x) if isinstance(x, str) else x for x in rewards]
        texts = [None] * len(rewards) if answer is None else listed(row, answer)
        if len(texts) != len(rewards):
            allowed = f"one for each of {len(rewards)} rewards"
            raise argument_error(str(answer), f"{len(texts)} entries", allowed)
        prompt = _text({column: _within(row, column)}, column)
        return [LoggedAnswer(prompt, {correct: x}, {"": y}) for x, y in zip(verdicts, texts, strict=True)]

    return Log(answers, ())


def reward_column(log: Log, answers: Sequence[LoggedAnswer], requested: str | None) -> str:
    """The column of rewards: the one that is asked for, the usual one, or the only one with numbers."""
    names = list(dict.fromkeys(name for answer in answers for name in answer.values))
    numeric = [n for n in names if any(is_number(answer.values.get(n)) for answer in answers)]
    if requested is not None:
        # A metric without its filter is the metric of the only filter.
        exact = [n for n in names if n == requested]
        fitting = exact or [n for n in names if n.partition(",")[0] == requested]
        if len(fitting) == 1:
            return fitting[0]
        raise argument_error("reward", requested, f"a column of numbers: one of {', '.join(sorted(numeric))}")
    fitting = [n for n in log.usual if n in names][:1] or numeric
    if len(fitting) == 1:
        return fitting[0]
    if numeric:
        raise argument_error("reward", numeric, "one column of rewards; name it with --reward")
    text = [f"{n}={x!r}" for answer in answers for n, x in answer.values.items() if isinstance(x, str)][:1]
    words = "".join(f"; {one} is text: write numbers, 1 for a correct answer" for one in text)
    raise argument_error("reward", names, f"a column of numbers, of which there is none{words}")


def prompt_counts(
    log: Log,
    answers: Sequence[tuple[int, LoggedAnswer]],
    reward: str | None = None,
    correct_from: float | None = None,
    unscored: str | None = None,
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """One row of counts a prompt from the answers of a log, and what is to be said of its rewards.

    Raises ValueError for rewards that are not correct-or-not, and with the lines of answers without one,
    unless `unscored` says what these are.
    """
    if unscored is not None:
        choice("unscored", unscored, UNSCORED)
    if not answers:
        return [], ()
    column = reward_column(log, [answer for _, answer in answers], reward)
    scored, without = _verdicts(log, column, answers)
    if without and unscored is None:
        more = f" and {len(without) - _LISTED} more" if len(without) > _LISTED else ""
        allowed = f"a number in column {column!r}; lines {', '.join(without[:_LISTED])}{more} have none: "
        allowed += "--unscored wrong counts such answers as incorrect, --unscored omit leaves them out"
        raise argument_error("reward", None, allowed)
    if unscored == "omit":
        scored = [(answer, value) for answer, value in scored if value is not None]
    values = [value for _, value in scored if value is not None]
    # A mean over the answers drawn has as many right ones as it says.
    mean = _MEAN_OF_REPEATS.match(column) is not None
    least, rewards_note = (0.0, "") if mean or not values else least_correct_reward(values, correct_from)
    notes = [rewards_note] if rewards_note else []
    if without:
        fate = "counted as incorrect" if unscored == "wrong" else "left out"
        notes.append(f"{len(without)} answers without a reward are {fate}")
    if not mean and (drawn := max((answer.drawn for answer, _ in scored), default=1)) > 1:
        notes.append(f"{column} is of one of {drawn} answers drawn to each: the others are in no number")
    if mean:
        counts = [(answer, answer.drawn, round((value or 0) * answer.drawn)) for answer, value in scored]
    else:
        counts = [(answer, 1, int(value is not None and value >= least)) for answer, value in scored]
    return _by_prompt(counts, column, mean, notes)


def _by_prompt(
    counts: Sequence[tuple[LoggedAnswer, int, int]], column: str, mean: bool, notes: list[str]
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """One row a prompt of answers with their n and c; of one text with several truths each is a prompt."""
    truths: dict[str, set[str]] = defaultdict(set)
    for answer, *_ in counts:
        truths[answer.prompt].add(answer.truth)
    if split := [len(several) for several in truths.values() if len(several) > 1]:
        notes.append(f"{len(split)} texts have several truths: they are {sum(split)} prompts")
    by_prompt: dict[str, list[tuple[int, int, Any]]] = defaultdict(list)
    for answer, n, c in counts:
        suffix = f" (truth: {answer.truth})" if len(truths[answer.prompt]) > 1 else ""
        by_prompt[answer.prompt + suffix].append((n, c, answer.texts.get(column, answer.texts.get(""))))
    rows = []
    for prompt, entries in by_prompt.items():
        ns, cs, texts = (list(part) for part in zip(*entries, strict=True))
        row = {"id": prompt, "n": sum(ns), "c": sum(cs)}
        if not mean:  # A mean over several answers has no verdict of each.
            row |= {"correct": cs} if None in texts else {"correct": cs, "answer": texts}
        rows.append(row)
    return rows, tuple(notes)


def _verdicts(
    log: Log, column: str, answers: Sequence[tuple[int, LoggedAnswer]]
) -> tuple[list[tuple[LoggedAnswer, float | None]], list[str]]:
    """The answers with their rewards, and the lines of those without one."""
    scored: list[tuple[LoggedAnswer, float | None]] = []
    without: list[str] = []
    for number, answer in answers:
        value = answer.values.get(column)
        if isinstance(value, str):
            allowed = f"a number in column {column!r} (line {number}): 1 for a correct answer"
            raise argument_error("reward", value, allowed)
        if is_number(value):
            scored.append((answer, snapped(float(value))))
        elif column in answer.values or not log.partial:
            scored.append((answer, None))
            without.append(f"{number} ({answer.reason})" if answer.reason else f"{number}")
    return scored, without


def least_correct_reward(values: Iterable[float], requested: float | None) -> tuple[float, str]:
    """The least reward of a correct answer, and in words which values there are and which are correct.

    Unasked it is 1, of rewards that have at most two values, the greater being 1, or of which all are one
    value that is no more than 0; ValueError lists other values.
    """
    frequency = Counter(values)
    distinct = sorted(frequency)
    listing = ", ".join(f"{value:.6g} ({frequency[value]})" for value in distinct[:_LISTED])
    if len(distinct) > _LISTED:
        listing += f", ... {distinct[-1]:.6g}: {len(distinct)} values"
    binary, all_wrong = len(distinct) <= 2 and distinct[-1] == 1, len(distinct) == 1 and distinct[0] <= 0
    if requested is None and not (binary or all_wrong):
        allowed = "of two values at most, the greater 1; say with --correct-from which rewards are correct"
        raise argument_error("reward", listing, f"{allowed}, from the least on")
    least = 1.0 if requested is None else requested
    return least - ROUNDED, f"rewards {listing}, correct from {least:g} on"


def step_files(folder: Path) -> dict[int, Path]:
    """The logs of a folder by step: verl writes 10.jsonl, TRL completions_00010.parquet."""
    steps = {
        int("".join(filter(str.isdigit, path.stem))): path
        for path in folder.iterdir()
        if path.suffix in (".jsonl", ".parquet", ".csv") and any(map(str.isdigit, path.stem))
    }
    if not steps:
        raise argument_error("folder", str(folder), "a folder of logs, a .jsonl or .parquet file a step")
    return dict(sorted(steps.items()))
