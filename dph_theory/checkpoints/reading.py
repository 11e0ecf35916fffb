"""Counts of a checkpoint, or of each step of a training, from files: rows of counts, or logs of answers."""

import csv
import hashlib
import importlib
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from os.path import commonpath
from pathlib import Path
from typing import Any, NamedTuple

from ..support.errors import argument_error
from ..support.record import read_record
from .counts import Counts, PromptRow, is_number, prompt_row
from .logs import AS_TEXT, LoggedAnswer, log_of_columns, prompt_counts, recognised, step_files

Numbered = Iterable[tuple[int, Any]]
"""Values with the line of the file at which each stands; one that cannot be read is the error."""
_NAMED = 5
"""So many wrong rows are listed one by one."""
_EVALUATION = "evaluation.json"
"""What `dph evaluate` and `dph demo` write into the folder of a run."""
_WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d*")
_ABSENT = ("", "NA", "null", "None")
_LONGEST_CELL = 2**27


def read_counts(
    path: str | Path,
    *,
    reward: str | None = None,
    correct_from: float | None = None,
    unscored: str | None = None,
    prompts: str | None = None,
    by: str | None = None,
    column: str | None = None,
    correct: str | None = None,
    answer: str | None = None,
) -> Counts:
    """How many of a checkpoint's answers to each prompt are correct, from a file.

    Parameters: `path`, JSON lines or .csv or .parquet of rows {"id", "n", "c"}, a log of answers of TRL,
    verl, lm-eval or Inspect (`logs`), or a folder of `dph evaluate`: seen from the columns. Of a log
    each row is one answer and the prompt's text or number is its id (of a folder the file of the last step is
    read); `reward`, the log's column of rewards, by default the only one; `correct_from`, the least reward
    of a correct answer, by default 1 of two values; `unscored`, "wrong" or "omit", what is made of answers
    without a reward, which are otherwise an error; `prompts`, which set of a folder of `dph evaluate`, by
    default the only one; `by`, the field of the rows that holds a prompt's category; of rows of no known log
    `column` names the prompt, `correct` says whether its answer is correct, or its answers, and `answer` what
    was said. .parquet needs the package datasets.

    A row may also hold "correct" (a 0 or 1 for each answer, in place of n and c) and with it "answer" (what
    each said, for maj@k and what is left), "log_ratio" (log pi - log ref of each, in nats) or their mean
    "kl", "style" (answers by style, or the style of each), "prompt" (its text). An unfinished last
    line is left out, which is said. Returns the rows by id. Raises ValueError naming the file and the line of
    each of the first wrong rows.

    >>> read_counts("base.jsonl")  # doctest: +SKIP
    Counts('base.jsonl': 320 prompts, Pass@1 0.4606)
    """
    path = Path(path)
    options = _Options(reward, correct_from, unscored, by, column, correct, answer)
    return _counts(path, _read(path, prompts), str(path), options)


def read_steps(path: str | Path, **options: Any) -> dict[int, Counts]:
    """The counts at each step of a training: rows with the field "step", or a folder with a file a step.

    Parameters and errors are those of `read_counts`.

    >>> read_steps("validation")  # doctest: +SKIP
    {10: Counts('validation/10.jsonl': 500 prompts, Pass@1 0.41), 20: ...}
    """
    path = Path(path)
    if path.is_dir():
        return {step: read_counts(log, **options) for step, log in step_files(path).items()}
    file = _read(path, options.pop("prompts", None))
    steps: dict[int, list[tuple[int, Any]]] = defaultdict(list)

    def take(number: int, value: Any) -> None:
        step = value.get("step") if isinstance(value, dict) else None
        if type(step) is not int:
            raise argument_error("step", step, "a whole number in each row")
        steps[step].append((number, value))

    _take_rows(path, file.rows, take)
    return {
        step: _counts(path, file._replace(rows=rows), f"{path}, step {step}", _Options(**options))
        for step, rows in sorted(steps.items())
    }


class _Options(NamedTuple):
    """How rows are read, in the words of `read_counts`."""

    reward: str | None = None
    correct_from: float | None = None
    unscored: str | None = None
    by: str | None = None
    column: str | None = None
    correct: str | None = None
    answer: str | None = None


class _ReadFile(NamedTuple):
    """A file with its rows, its hash, notes on it, and of an evaluation its models."""

    path: Path
    rows: list[tuple[int, Any]]
    sha256: str
    notes: tuple[str, ...] = ()
    models: tuple[str | None, str | None] = (None, None)


class _CutOffError(ValueError):
    """The last line of a file is unfinished."""


def _read(path: Path, which: str | None) -> _ReadFile:
    """A file, or of a folder an evaluation or the log of the last step."""
    file = path
    if path.is_dir():
        file = path / _EVALUATION
        file = file if file.is_file() else list(step_files(path).values())[-1]
    if not file.is_file():
        raise argument_error("file", str(path), "a file of counts; it is not there")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if file.name == _EVALUATION:
        rows, models = _evaluation(file, which)
        return _ReadFile(file, rows, digest, models=models)
    formats: Mapping[str, Callable[[Path], Numbered]] = {
        ".csv": _csv_rows, ".parquet": _parquet_rows, ".eval": _inspect_rows, ".json": _json_rows
    }  # fmt: skip
    rows = list(formats.get(file.suffix, _lines)(file))
    if rows and isinstance(rows[-1][1], _CutOffError):
        return _ReadFile(file, rows[:-1], digest, ("it ends in an unfinished line, which is left out",))
    return _ReadFile(file, rows, digest)


def _take_rows(path: Path, numbered: Numbered, take: Callable[[int, Any], None]) -> None:
    """Take every row; ValueError with the lines of the first that cannot be."""
    wrong: list[str] = []
    for number, value in numbered:
        try:
            if isinstance(value, ValueError):
                raise value
            take(number, value)
        except ValueError as error:
            wrong.append(f"{path}:{number}: {error}")
    if wrong:
        more = [f"and {len(wrong) - _NAMED} more"] if len(wrong) > _NAMED else []
        raise ValueError("\n".join(wrong[:_NAMED] + more))


def _lines(path: Path) -> Numbered:
    """The values of JSON lines; a line that is none is given as the error."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                if line.strip():
                    yield number, json.loads(line)
            except (UnicodeDecodeError, json.JSONDecodeError) as error:
                kind = ValueError if line.endswith(b"\n") else _CutOffError
                yield number, kind(f"no JSON: {error}")


def _csv_rows(path: Path) -> Numbered:
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
    numbers = all(_WHOLE_NUMBER.fullmatch(cells.get("id") or "0") for _, cells in rows)
    as_text = {*AS_TEXT} if numbers else {*AS_TEXT, "id"}
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


def _parquet_rows(path: Path) -> Numbered:
    """The rows of a Parquet file."""
    try:
        import datasets
    except ModuleNotFoundError as error:
        allowed = "JSON lines or CSV; for Parquet: pip install datasets"
        raise argument_error("file", str(path), allowed) from error
    table = datasets.load_dataset("parquet", data_files=str(path), split="train", streaming=True)
    for number, value in enumerate(table, start=1):
        yield number, {name: _plain(entry) for name, entry in value.items()}


def _plain(entry: Any) -> Any:
    """A table's cell: whole numbers that a gap in the column made floats, lists that stand as text."""
    if isinstance(entry, float):
        if not is_number(entry):
            return None
        return int(entry) if entry.is_integer() else entry
    if isinstance(entry, str) and entry[:1] in ("[", "{"):
        with suppress(json.JSONDecodeError):
            return json.loads(entry)
    return entry


def _json_rows(path: Path) -> Numbered:
    """The rows of an array, of a table that wandb exports, of a log of Inspect or EvalPlus, or JSON lines."""
    try:
        value = json.loads(path.read_bytes())
    except (UnicodeDecodeError, json.JSONDecodeError):
        return _lines(path)
    if isinstance(value, dict) and {"columns", "data"} <= value.keys():
        value = [dict(zip(value["columns"], cells, strict=True)) for cells in value["data"]]
    elif isinstance(value, dict) and "samples" in value:
        value = value["samples"] or []
    elif isinstance(value, dict) and isinstance(value.get("eval"), dict):
        # EvalPlus: a list of answers a task.
        value = [answer for answers in value["eval"].values() for answer in answers]
    return enumerate(value, 1) if isinstance(value, list) else [(1, value)]


def _inspect_rows(path: Path) -> Numbered:
    """The summaries of samples in an .eval file of Inspect, an archive."""
    # Compressed by Zstandard, which zipfile reads from Python 3.14 on, or with Inspect's own helper.
    with suppress(ModuleNotFoundError):
        importlib.import_module("zipfile_zstd")
    try:
        with zipfile.ZipFile(path) as archive:
            return enumerate(json.loads(archive.read("summaries.json")), 1)
    except (zipfile.BadZipFile, KeyError, NotImplementedError) as error:
        allowed = f"a finished log of Inspect ({error}): pip install zipfile-zstd or inspect log convert"
        raise argument_error("file", str(path), allowed) from error


def _evaluation(path: Path, which: str | None) -> tuple[list[tuple[int, Any]], tuple[str | None, str | None]]:
    """A row for each prompt of a set, with log ratios and styles of correct answers; the models' hashes."""
    results = read_record(path, "full_scale.evaluation", "dph evaluate")["results"]
    sets = results["sets"]
    if which is None and len(sets) == 1:
        which = next(iter(sets))
    if which not in sets:
        raise argument_error("set", which, f"one of {', '.join(sets)} in {path}")
    rows = []
    for number, prompt in enumerate(sets[which]["prompts"], start=1):
        correct = zip(prompt["styles"], prompt["correct"], strict=True)
        styles = Counter(style for style, right in correct if right and style is not None)
        ratios = [pi - ref for pi, ref in zip(prompt["log_pi"], prompt["log_ref"], strict=True)]
        fields = {"id": prompt["id"], "correct": prompt["correct"], "log_ratio": ratios}
        rows.append((number, fields | {"style": dict(styles) or None}))
    model, initial = ((results.get(name) or {}).get("hash") for name in ("model", "initial"))
    return rows, (model, initial)


def _counts(path: Path, file: _ReadFile, source: str, options: _Options) -> Counts:
    """The rows by prompt, with notes on them; ValueError where there are none."""
    numbered, notes = file.rows, file.notes
    columns = (options.column, options.correct, options.answer)
    log = recognised(numbered[0][1]) if numbered else None
    if any(columns):
        log = log_of_columns(*columns)
    if log is not None:
        if path.is_dir() and not log.by_step:
            allowed = "a file of such a log: its folders may hold several tasks"
            raise argument_error("file", str(path), allowed)
        answers: list[tuple[int, LoggedAnswer]] = []

        def add_answers(number: int, value: Any) -> None:
            answers.extend((number, answer) for answer in log.read(value))

        _take_rows(file.path, numbered, add_answers)
        reward = options.reward or options.correct
        try:
            counted, more = prompt_counts(log, answers, reward, options.correct_from, options.unscored)
        except ValueError as error:
            raise ValueError(f"{file.path}: {error}") from error
        numbered, notes = [*enumerate(counted, 1)], (*notes, *more)
    rows: dict[str | int, PromptRow] = {}
    ids: set[str] = set()

    def add_row(_: int, value: Any) -> None:
        row = prompt_row(value, options.by)
        if str(row.id) in ids:
            raise argument_error("id", row.id, "each prompt once; a number and its digits as text are one id")
        ids.add(str(row.id))
        rows[row.id] = row

    _take_rows(file.path, numbered, add_row)
    if not rows:
        raise argument_error("file", str(file.path), "at least one row")
    if options.by is not None and all(row.category is None for row in rows.values()):
        raise argument_error("by", options.by, f"a field that rows of {file.path} hold")
    return Counts(source, rows, file.sha256, notes, file.models)


def distinct_names(paths: Sequence[str | Path]) -> list[str]:
    """A name for each path: its last part; where others have the same, the way from their common folder.

    >>> distinct_names(["s1/run.jsonl", "s2/run.jsonl", "base.jsonl"])
    ['s1/run.jsonl', 's2/run.jsonl', 'base.jsonl']
    """
    absolute, nth, names = [Path(path).absolute() for path in paths], Counter[Path](), []
    for path in absolute:
        namesakes = {other for other in absolute if other.name == path.name}
        name = path.name if len(namesakes) == 1 else str(path.relative_to(commonpath(namesakes)))
        nth[path] += 1
        names.append(name if nth[path] == 1 else f"{name}, {nth[path]}")
    return names
