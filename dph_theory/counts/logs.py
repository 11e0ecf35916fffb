"""Logs with a row for each answer, of TRL, verl, lm-eval and Inspect: prompt, rewards, what was said."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeGuard

from ..support.errors import argument_error

AS_TEXT = ("prompt", "input")
"""Columns whose cells stay text where a table is read; a completion in a table may read as a number."""
_TRL_OWN = (*AS_TEXT, "step", "completion", "advantage")
_VERL_OWN = (*AS_TEXT, "output", "gts", "step", "pred")
"""The columns of TRL's and of verl's logs that are no rewards."""
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades as its own metrics count them: correct, partial, incorrect, no answer."""
_LONGEST = 80
_MEAN_OF_REPEATS = re.compile(r"pass(@|_at_)1,")
"""lm-eval's metrics that are the mean over all answers drawn."""
NEAR = 1e-5
"""Rewards this near to a number are that number: float32 and means of checks leave .999999 of a one."""
UNSCORED = ("wrong", "omit")
"""What may be made of answers without a reward."""
_TOLD = 5
"""So many lines, and values, are told one by one."""


class Answer(NamedTuple):
    """Of a row of a log: the prompt, the columns that may be its reward, what was said, how many were drawn.

    `said` has what was said by column of rewards, under "" for all of them; `reason` says why a row has no
    reward, where the log does.
    """

    prompt: str
    values: Mapping[str, Any]
    said: Mapping[str, Any] = MappingProxyType({})
    drawn: int = 1
    reason: str = ""


@dataclass(frozen=True)
class Log:
    """How a trainer's or an evaluation's log is read: its row, and the columns that are taken unasked."""

    answer: Callable[[Mapping[str, Any]], Answer]
    known_by: tuple[str, ...]
    """Columns that only such rows hold together."""
    usual: tuple[str, ...] = ()
    by_step: bool = False
    """Whether a folder of them has a file a step."""
    partial: bool = False
    """Whether a row may lack the column: it is of another filter."""


def _trl(row: Mapping[str, Any]) -> Answer:
    """A row of TRL's logged completions, also as a table that wandb exports."""
    return Answer(_text(row, "prompt"), {name: x for name, x in row.items() if name not in _TRL_OWN})


def _verl(row: Mapping[str, Any]) -> Answer:
    """A row of verl's rollouts or validation; `pred` is the answer where the reward function returned it."""
    values = {name: x for name, x in row.items() if name not in _VERL_OWN}
    return Answer(_text(row, "input"), values, {"": row.get("pred")})


def _lm_eval(row: Mapping[str, Any]) -> Answer:
    """A row of lm-eval's samples; a metric is named with its filter, as in its results."""
    form, drawn = row.get("filter", "none"), row.get("resps") or [[None]]
    values = {f"{name},{form}": row.get(name) for name in row.get("metrics", ())}
    said = (row.get("filtered_resps") or [None])[0]
    return Answer(_text(row, "doc_id"), values, {"": said}, len(drawn[0]))


def _inspect(row: Mapping[str, Any]) -> Answer:
    """A sample of a log of Inspect, an answer for each epoch; grades are numbers as its metrics have them."""
    scores = row.get("scores") or {}
    error = row.get("error") or "it was not scored"
    reason = "" if scores else str(error.get("message") if isinstance(error, Mapping) else error)[:_LONGEST]
    values = {name: _GRADES.get(str(score["value"]), score["value"]) for name, score in scores.items()}
    said = {name: score.get("answer") for name, score in scores.items()}
    return Answer(_text(row, "id"), values, said, reason=reason)


LOGS: Mapping[str, Log] = MappingProxyType(
    {
        "trl": Log(_trl, ("prompt", "completion"), by_step=True),
        "verl": Log(_verl, ("input", "output"), usual=("acc", "score"), by_step=True),
        "lm-eval": Log(_lm_eval, ("doc_id", "resps"), partial=True),
        "inspect": Log(_inspect, ("id", "scores")),
    }
)
"""The logs that are read, by whose they are."""


def recognised(row: Any) -> str | None:
    """Whose log a row is of, by the columns that it has; None for a row of counts."""
    if not isinstance(row, Mapping):
        return None
    return next((name for name, log in LOGS.items() if all(column in row for column in log.known_by)), None)


def _text(row: Mapping[str, Any], column: str) -> str:
    prompt = row.get(column)
    if prompt is None:
        raise argument_error("row", row, f"one with {column!r}")
    return prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False, sort_keys=True)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a reward is one: not missing, not text, finite."""
    return isinstance(value, bool | int | float) and math.isfinite(value)


def reward_column(log: Log, answers: Sequence[Answer], asked: str | None) -> str:
    """The column of rewards: the one that is asked for, the usual one, or the only one with numbers."""
    names = list(dict.fromkeys(name for answer in answers for name in answer.values))
    numeric = [n for n in names if any(is_number(answer.values.get(n)) for answer in answers)]
    if asked is not None:
        # A metric without its filter is the metric of the only filter.
        fitting = [n for n in names if asked in (n, n.partition(",")[0])]
        if len(fitting) == 1 or asked in fitting:
            return asked if asked in fitting else fitting[0]
        raise argument_error("reward", asked, f"a column of numbers: one of {', '.join(sorted(numeric))}")
    usual = [n for n in log.usual if n in names]
    if usual or len(numeric) == 1:
        return (usual or numeric)[0]
    if numeric:
        raise argument_error("reward", numeric, "one column of rewards; name it with --reward")
    text = next((f"{n}={x!r}" for answer in answers for n, x in answer.values.items() if _is_text(x)), None)
    words = "" if text is None else f"; {text} is text: write numbers, 1 for a right answer"
    raise argument_error("reward", names, f"a column of numbers, of which there is none{words}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def scored(
    log: Log, answers: Sequence[tuple[int, Answer]], column: str, unscored: str | None
) -> tuple[list[tuple[Answer, float | None]], int]:
    """The answers with their rewards (None: counts as wrong), and how many have none.

    Raises ValueError with the lines of those that have none, or text, unless `unscored` says what they are.
    """
    found: list[tuple[Answer, float | None]] = []
    without: list[tuple[int, str]] = []
    for number, answer in answers:
        value = answer.values.get(column)
        if is_number(value):
            found.append((answer, _snapped(float(value))))
        elif _is_text(value):
            raise argument_error(
                "reward", value, f"a number in column {column!r} (line {number}): 1 for a right answer"
            )
        elif not (log.partial and column not in answer.values):
            without.append((number, answer.reason))
            found += [(answer, None)] * (unscored == "wrong")
    if without and unscored is None:
        lines = ", ".join(f"{n} ({why})" if why else str(n) for n, why in without[:_TOLD])
        more = f" and {len(without) - _TOLD} more" * (len(without) > _TOLD)
        raise argument_error(
            "reward",
            None,
            f"a number in column {column!r}; lines {lines}{more} have none: --unscored wrong counts such "
            "answers as wrong, --unscored omit leaves them out",
        )
    return found, len(without)


def _snapped(value: float) -> float:
    return next((end for end in (0.0, 1.0) if abs(value - end) <= NEAR * (1 + NEAR)), value)


def is_mean(column: str) -> bool:
    """Whether a column is the mean over a row's answers, and no reward of one."""
    return _MEAN_OF_REPEATS.match(column) is not None


def right_from(values: Iterable[float], asked: float | None) -> tuple[float, str]:
    """The least reward of a right answer, and in words which values there are and which are right.

    Unasked it is 1, of rewards that have at most two values, the greater being 1, or of which all are one
    value that is no more than 0; ValueError lists other values.
    """
    seen = Counter(values)
    some = sorted(seen)
    told = ", ".join(f"{value:.6g} ({seen[value]})" for value in some[:_TOLD])
    if len(some) > _TOLD:
        told += f", ... {some[-1]:.6g}: {len(some)} values"
    if asked is None and not ((len(some) <= 2 and some[-1] == 1) or (len(some) == 1 and some[0] <= 0)):
        allowed = "of two values at most, the greater 1; say with --correct-from which rewards are right"
        raise argument_error("reward", told, f"{allowed}, from the least on")
    least = 1.0 if asked is None else asked
    return least - NEAR, f"rewards {told}, right from {least:g} on"


def counted(answer: Answer, column: str, value: float | None, least: float) -> tuple[int, int]:
    """How many answers a row tells of, and how many of them are right."""
    if is_mean(column) and value is not None:
        return answer.drawn, round(value * answer.drawn)
    return 1, int(value is not None and value >= least)


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
