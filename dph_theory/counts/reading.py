"""Counts of a checkpoint from files: JSON lines, CSV, Parquet, `dph evaluate`, logs of TRL and verl."""

import csv
import hashlib
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..support.errors import argument_error, choice
from ..support.record import read_record
from .pairs import Counts, PromptRow, row

Numbered = Iterable[tuple[int, Any]]
"""Rows with the line of the file at which each stands."""
_NAMED = 5
"""So many wrong rows are told one by one."""
_PROMPT = {"trl": "prompt", "verl": "input"}
"""Where the trainers' logs have the prompt."""
_VERL_OWN = ("acc", "score")
"""Where verl's logs hold the verdict: the accuracy if the reward function returned one, else the score."""
_TRL_OWN = ("step", "prompt", "completion", "advantage")
"""The columns of TRL's completion logs that are no rewards."""
_EVALUATION, _EVALUATION_FILE = "full_scale.evaluation", "evaluation.json"
"""The kind of record that `dph evaluate` and `dph demo` store, and its file in the folder of a run."""
_WHOLE = re.compile(r"0|-?[1-9]\d*")
_ABSENT = ("", "NA", "null", "None")
_LONGEST_CELL = 2**27


def read_counts(
    path: str | Path,
    trainer: str | None = None,
    *,
    reward: str | None = None,
    correct_from: float = 1.0,
    allow_cut_off: bool = False,
    prompts: str | None = None,
    by: str | None = None,
) -> Counts:
    """How many of a checkpoint's answers to each prompt are correct, from a file.

    Parameters: `path`, JSON lines or .csv or .parquet of rows {"id", "n", "c"}, or a folder of `dph
    evaluate`; `trainer`, "trl" or "verl" for its own log, where each row is one answer and the prompt's text
    is its id (of a folder the file of the last step is read); `reward`, the log's column of verdicts, by
    default the only one; `correct_from`, the least reward of a correct answer; `allow_cut_off`, leave out an
    unfinished last line; `prompts`, which set of a folder of `dph evaluate`, by default the only one;
    `by`, the field of the rows that holds a prompt's category.
    .parquet needs the package datasets.

    A row may also hold "correct" (a 0 or 1 for each answer, in place of n and c), "log_ratio" (log pi - log
    ref of each answer, in nats) or their mean "kl", "style" (answers by style) and "k" (where Pass@k is
    wanted). Returns the rows by id. Raises ValueError naming the file and the line of each of the first wrong
    rows.

    >>> read_counts("base.jsonl")  # doctest: +SKIP
    Counts('base.jsonl': 320 prompts, Pass@1 0.4606)
    """
    path = Path(path)
    if trainer is not None:
        choice("trainer", trainer, _PROMPT)
        if by is not None:
            raise argument_error("by", by, "None for a trainer's log: its rows are answers")
        path = _last_step(path) if path.is_dir() else path
    elif path.is_dir() and (path / _EVALUATION_FILE).is_file():
        path /= _EVALUATION_FILE
    if not path.is_file():
        raise argument_error("file", str(path), "a file of counts; it is not there")
    digest, cut_off = hashlib.sha256(), [False]
    evaluated = trainer is None and path.name == _EVALUATION_FILE
    tables: dict[str, Callable[[Path], Numbered]] = {".csv": _csv_rows, ".parquet": _parquet_rows}
    if evaluated or path.suffix in tables:
        numbered = _evaluation_rows(path, prompts) if evaluated else tables[path.suffix](path)
        digest.update(path.read_bytes())
    else:
        numbered = _lines(path, digest.update, cut_off if allow_cut_off else None)
    if trainer is None:
        rows = _by_id(path, numbered, by)
    else:
        rows = _answers(path, numbered, trainer, reward, correct_from)
    if not rows:
        raise argument_error("file", str(path), "at least one row")
    return Counts(str(path.parent if evaluated else path), rows, digest.hexdigest(), cut_off[0])


def _each(path: Path, numbered: Numbered, take: Callable[[Any], None]) -> None:
    """Take every row; ValueError with the lines of the first that cannot be."""
    wrong: list[str] = []
    for number, value in numbered:
        try:
            if isinstance(value, ValueError):
                raise value
            take(value)
        except ValueError as error:
            wrong.append(f"{path}:{number}: {error}")
    if wrong:
        more = [f"and {len(wrong) - _NAMED} more"] if len(wrong) > _NAMED else []
        raise ValueError("\n".join(wrong[:_NAMED] + more))


def _lines(
    path: Path, seen: Callable[[bytes], None], cut_off: list[bool] | None
) -> Iterator[tuple[int, Any]]:
    """The values of JSON lines; a line that is none is given as the error, at the end as cut off."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            seen(line)
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except (UnicodeDecodeError, json.JSONDecodeError) as error:
                unfinished = not line.endswith(b"\n")
                if unfinished and cut_off is not None:
                    cut_off[0] = True
                    return
                words = "the file is cut off in this line" if unfinished else f"no JSON: {error}"
                yield number, ValueError(words)


def _csv_rows(path: Path) -> Iterator[tuple[int, Any]]:
    """The rows of a CSV file with a header, its cells as numbers where they are such."""
    longest = csv.field_size_limit(_LONGEST_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows = [(reader.line_num, cells) for cells in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise argument_error("file", str(path), f"CSV in UTF-8 ({error})") from error
    finally:
        csv.field_size_limit(longest)
    # As in JSON, ids are numbers if all of them are.
    as_text = {*_PROMPT.values()}
    if not all(_WHOLE.fullmatch(cells.get("id") or "0") for _, cells in rows):
        as_text.add("id")
    for number, cells in rows:
        if None in cells:
            yield number, ValueError("more cells than the header has names")
        else:
            yield number, {name: _plain(x if name in as_text else _typed(x)) for name, x in cells.items()}


def _typed(cell: str | None) -> Any:
    """The number, the truth value, or the text that a cell of a CSV file holds; None for an empty one."""
    if cell is None or cell.strip() in _ABSENT:
        return None
    for kind in (int, float):
        with suppress(ValueError):
            return kind(cell)
    return {"True": True, "False": False}.get(cell, cell)


def _parquet_rows(path: Path) -> Iterator[tuple[int, Any]]:
    """The rows of a Parquet file."""
    try:
        import datasets
    except ModuleNotFoundError as error:
        allowed = "JSON lines or CSV; for Parquet: pip install datasets"
        raise argument_error("file", str(path), allowed) from error
    found = datasets.load_dataset("parquet", data_files=str(path), split="train", streaming=True)
    for number, value in enumerate(found, start=1):
        yield number, {name: _plain(entry) for name, entry in value.items()}


def _plain(entry: Any) -> Any:
    """A table's cell: whole numbers that a gap in the column made floats, lists that stand as text."""
    if isinstance(entry, float) and not math.isfinite(entry):
        return None
    if isinstance(entry, float) and entry.is_integer():
        return int(entry)
    if isinstance(entry, str) and entry[:1] in ("[", "{"):
        with suppress(json.JSONDecodeError):
            return json.loads(entry)
    return entry


def _evaluation_rows(path: Path, which: str | None) -> Iterator[tuple[int, Any]]:
    """A row for each prompt of an evaluation's set, with log ratios and styles of correct answers."""
    sets = read_record(path, _EVALUATION, "dph evaluate")["results"]["sets"]
    if which is None and len(sets) == 1:
        which = next(iter(sets))
    if which not in sets:
        raise argument_error("set", which, f"one of {', '.join(sets)} in {path}")
    for number, prompt in enumerate(sets[which]["prompts"], start=1):
        correct = zip(prompt["styles"], prompt["correct"], strict=True)
        styles = Counter(style for style, right in correct if right and style is not None)
        ratios = [pi - ref for pi, ref in zip(prompt["log_pi"], prompt["log_ref"], strict=True)]
        known = {"id": prompt["id"], "correct": prompt["correct"], "log_ratio": ratios}
        yield number, known | {"style": dict(styles) or None}


def _by_id(path: Path, numbered: Numbered, by: str | None) -> dict[str | int, PromptRow]:
    found: dict[str | int, PromptRow] = {}

    def take(value: Any) -> None:
        made = row(value, by)
        if made.id in found:
            raise argument_error("id", made.id, "each prompt once")
        found[made.id] = made

    _each(path, numbered, take)
    if by is not None and all(made.category is None for made in found.values()):
        raise argument_error("by", by, f"a field that rows of {path} hold")
    return found


def _answers(
    path: Path, numbered: Numbered, trainer: str, reward: str | None, correct_from: float
) -> dict[str | int, PromptRow]:
    """One row a prompt from a log with one row an answer."""
    prompt_column = _PROMPT[trainer]
    counts: dict[str, Counter[int]] = defaultdict(Counter)

    def take(value: Any) -> None:
        if not isinstance(value, Mapping) or prompt_column not in value:
            raise argument_error("row", value, f"an answer of {trainer}, with {prompt_column!r}")
        counts[_text(value[prompt_column])][int(_reward(trainer, reward, value) >= correct_from)] += 1

    _each(path, numbered, take)
    return {text: PromptRow(text, sum(seen.values()), seen[1]) for text, seen in counts.items()}


def _text(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False, sort_keys=True)


def _reward(trainer: str, name: str | None, value: Mapping[str, Any]) -> float:
    """The reward of an answer in a log."""
    # A reward that is nan, as JSON lines may hold one, is none.
    numeric = {k: x for k, x in value.items() if isinstance(x, bool | int | float) and not math.isnan(x)}
    if name is None and trainer == "verl":
        name = next((key for key in _VERL_OWN if key in numeric), "score")
    if name is None:
        rewards = [key for key in numeric if key not in _TRL_OWN]
        if len(rewards) != 1:
            raise argument_error("reward", rewards, "one column of rewards; name it")
        name = rewards[0]
    if name not in numeric:
        raise argument_error("reward", name, f"a column of numbers: one of {', '.join(sorted(numeric))}")
    return float(numeric[name])


def _last_step(folder: Path) -> Path:
    """The log of the last step: verl writes 10.jsonl, TRL completions_00010.parquet."""
    steps = {
        int("".join(filter(str.isdigit, path.stem))): path
        for path in folder.iterdir()
        if path.suffix in (".jsonl", ".parquet") and any(map(str.isdigit, path.stem))
    }
    if not steps:
        raise argument_error("folder", str(folder), "a folder of logs, a .jsonl or .parquet file a step")
    return steps[max(steps)]
