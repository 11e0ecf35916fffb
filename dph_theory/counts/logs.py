"""Logs with a row for each answer, of TRL, verl, lm-eval and Inspect: prompt, verdict, what was said."""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from ..support.errors import argument_error

_TRL_OWN = ("step", "completion", "advantage")
"""The columns of TRL's completion logs that are no rewards; a completion in a table may read as a number."""
_VERL_OWN = ("acc", "score")
"""Where verl's logs hold the verdict: the accuracy if the reward function returned one, else the score."""
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades as its own metrics count them: correct, partial, incorrect, no answer."""
_LONGEST_ERROR = 80
_MEAN_OF_REPEATS = re.compile(r"pass(@|_at_)1,")


class Answers(NamedTuple):
    """Of a row of a log: the prompt, answers to it (one, but of a mean), the correct ones, what was said."""

    prompt: str
    n: int
    c: int
    said: str | None = None


Log: TypeAlias = Callable[[Mapping[str, Any], str | None, float], Answers]
"""(row, column of verdicts, least reward of a correct answer) -> what the row says."""


def trl(row: Mapping[str, Any], reward: str | None, least: float) -> Answers:
    """A row of TRL's logged completions, also as a table that wandb exports."""
    prompt = _text(row, "prompt")
    rewards = {name: x for name, x in _numbers(row).items() if name not in _TRL_OWN}
    return Answers(prompt, 1, int(_verdict(rewards, reward) >= least))


def verl(row: Mapping[str, Any], reward: str | None, least: float) -> Answers:
    """A row of verl's rollouts or validation; `pred` is the answer where the reward function returned it."""
    prompt, found = _text(row, "input"), _numbers(row)
    name = reward or next((key for key in _VERL_OWN if key in found), "score")
    return Answers(prompt, 1, int(_verdict(found, name) >= least), _said(row.get("pred")))


def lm_eval(row: Mapping[str, Any], reward: str | None, least: float) -> Answers:
    """A row of lm-eval's samples; a metric is named with its filter, as in its results.

    A row holds one verdict however many answers were drawn, but pass@1, which is their mean.
    """
    prompt, form = _text(row, "doc_id"), row.get("filter", "none")
    values = {f"{name},{form}": x for name, x in _numbers(row).items() if name in row.get("metrics", ())}
    if form == "none" and reward is not None and "," not in reward:
        reward = f"{reward},none"
    elif form != "none" and "," not in (reward or ""):
        raise argument_error("reward", reward, f"a metric with its filter, such as {min(values, default='')}")
    if reward is not None and reward.partition(",")[2] != form:
        return Answers(prompt, 0, 0)
    value, drawn = _verdict(values, reward), row.get("resps") or [[None]]
    if _MEAN_OF_REPEATS.match(reward or min(values)):
        return Answers(prompt, len(drawn[0]), round(value * len(drawn[0])))
    return Answers(prompt, 1, int(value >= least), _said((row.get("filtered_resps") or [None])[0]))


def inspect(row: Mapping[str, Any], reward: str | None, least: float) -> Answers:
    """A sample of a log of Inspect, an answer for each epoch; grades are numbers as its metrics have them."""
    prompt, scores = _text(row, "id"), row.get("scores")
    if not scores:
        error = row.get("error") or "this one was not scored"
        words = str(error.get("message") if isinstance(error, Mapping) else error)[:_LONGEST_ERROR]
        raise argument_error("sample", prompt, f"a sample with a score ({words})")
    values = _numbers({name: _GRADES.get(str(s["value"]), s["value"]) for name, s in scores.items()})
    said = scores.get(reward or min(scores), {}).get("answer")
    return Answers(prompt, 1, int(_verdict(values, reward) >= least), _said(said))


LOGS: Mapping[str, Log] = MappingProxyType({"trl": trl, "verl": verl, "lm-eval": lm_eval, "inspect": inspect})
"""The logs that are read, by whose they are."""
BY_STEP = ("trl", "verl")
"""Those that are folders with a file a step."""
AS_TEXT = ("prompt", "input")
"""Columns whose cells stay text where a table is read."""


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """The row's numbers; one that is nan, as JSON lines may hold it, is none."""
    return {name: x for name, x in row.items() if isinstance(x, bool | int | float) and not math.isnan(x)}


def _text(row: Mapping[str, Any], column: str) -> str:
    prompt = row.get(column)
    if prompt is None:
        raise argument_error("row", row, f"one with {column!r}")
    return prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False, sort_keys=True)


def _said(answer: Any) -> str | None:
    return None if answer is None else str(answer)


def _verdict(values: Mapping[str, float], name: str | None) -> float:
    """The column of that name, or the only one."""
    if name is None and len(values) != 1:
        raise argument_error("reward", list(values), "one column of rewards; name it")
    name = name or next(iter(values))
    if name not in values:
        raise argument_error("reward", name, f"a column of numbers: one of {', '.join(sorted(values))}")
    return float(values[name])


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
