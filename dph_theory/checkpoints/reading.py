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
from .logs import AS_TEXT, Answer, judged, named, recognised, step_files
from .pairs import Counts, PromptRow, is_number, row

Numbered = Iterable[tuple[int, Any]]
"""Values with the line of the file at which each stands; one that cannot be read is the error."""
_NAMED = 5
"""So many wrong rows are told one by one."""
_EVALUATION = "evaluation.json"
"""What `dph evaluate` and `dph demo` write into the folder of a run."""
_WHOLE = re.compile(r"0|-?[1-9]\d*")
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
    columns = (column, correct, answer)
    return _counts(path, _read(path, prompts), str(path), reward, correct_from, unscored, by, *columns)


def read_steps(path: str | Path, **how: Any) -> dict[int, Counts]:
    """The counts at each step of a training: rows with the field "step", or a folder with a file a step.

    Parameters and errors are those of `read_counts`.

    >>> read_steps("validation")  # doctest: +SKIP
    {10: Counts('validation/10.jsonl': 500 prompts, Pass@1 0.41), 20: ...}
    """
    path = Path(path)
    if path.is_dir():
        return {step: read_counts(file, **how) for step, file in step_files(path).items()}
    found = _read(path, how.pop("prompts", None))
    steps: dict[int, list[tuple[int, Any]]] = defaultdict(list)

    def take(number: int, value: Any) -> None:
        step = value.get("step") if isinstance(value, dict) else None
        if type(step) is not int:
            raise argument_error("step", step, "a whole number in each row")
        steps[step].append((number, value))

    _each(path, found.rows, take)
    each = ((step, found._replace(rows=rows)) for step, rows in sorted(steps.items()))
    names = ("reward", "correct_from", "unscored", "by", "column", "correct", "answer")
    asked = [how.get(name) for name in names]
    return {step: _counts(path, of, f"{path}, step {step}", *asked) for step, of in each}


class _Read(NamedTuple):
    """A file with its rows, its hash, what is to be told of it, and of an evaluation its models."""

    file: Path
    rows: list[tuple[int, Any]]
    sha256: str
    told: tuple[str, ...] = ()
    models: tuple[str | None, str | None] = (None, None)


class _CutOffError(ValueError):
    """The last line of a file is unfinished."""


def _read(path: Path, which: str | None) -> _Read:
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
        return _Read(file, rows, digest, models=models)
    formats: Mapping[str, Callable[[Path], Numbered]] = {
        ".csv": _csv_rows, ".parquet": _parquet_rows, ".eval": _inspect_rows, ".json": _json_rows
    }  # fmt: skip
    rows = list(formats.get(file.suffix, _lines)(file))
    if rows and isinstance(rows[-1][1], _CutOffError):
        return _Read(file, rows[:-1], digest, ("it ends in an unfinished line, which is left out",))
    return _Read(file, rows, digest)


def _each(path: Path, numbered: Numbered, take: Callable[[int, Any], None]) -> None:
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
    numbers = all(_WHOLE.fullmatch(cells.get("id") or "0") for _, cells in rows)
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
    found = datasets.load_dataset("parquet", data_files=str(path), split="train", streaming=True)
    for number, value in enumerate(found, start=1):
        yield number, {name: _plain(entry) for name, entry in value.items()}


def _plain(entry: Any) -> Any:
    """A table's cell: whole numbers that a gap in the column made floats, lists that stand as text."""
    if isinstance(entry, float):
        whole = is_number(entry) and entry.is_integer()
        return int(entry) if whole else entry if is_number(entry) else None
    if isinstance(entry, str) and entry[:1] in ("[", "{"):
        with suppress(json.JSONDecodeError):
            return json.loads(entry)
    return entry


def _json_rows(path: Path) -> Numbered:
    """The rows of an array, of a table that wandb exports, of a log of Inspect or EvalPlus, or JSON lines."""
    try:
        found = json.loads(path.read_bytes())
    except (UnicodeDecodeError, json.JSONDecodeError):
        return _lines(path)
    if isinstance(found, dict) and {"columns", "data"} <= found.keys():
        found = [dict(zip(found["columns"], cells, strict=True)) for cells in found["data"]]
    elif isinstance(found, dict) and "samples" in found:
        found = found["samples"] or []
    elif isinstance(found, dict) and isinstance(found.get("eval"), dict):
        # EvalPlus: a list of answers a task.
        found = [answer for answers in found["eval"].values() for answer in answers]
    return enumerate(found, 1) if isinstance(found, list) else [(1, found)]


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
        known = {"id": prompt["id"], "correct": prompt["correct"], "log_ratio": ratios}
        rows.append((number, known | {"style": dict(styles) or None}))
    model, initial = ((results.get(name) or {}).get("hash") for name in ("model", "initial"))
    return rows, (model, initial)


def _counts(
    path: Path,
    read: _Read,
    source: str,
    reward: str | None = None,
    correct_from: float | None = None,
    unscored: str | None = None,
    by: str | None = None,
    *columns: str | None,
) -> Counts:
    """The rows by prompt, with what is to be told of them; ValueError where there are none."""
    numbered, told = read.rows, read.told
    log = named(*columns) if any(columns) else recognised(numbered[0][1]) if numbered else None
    if log is not None:
        if path.is_dir() and not log.by_step:
            allowed = "a file of such a log: its folders may hold several tasks"
            raise argument_error("file", str(path), allowed)
        answers: list[tuple[int, Answer]] = []

        def hear(number: int, value: Any) -> None:
            answers.extend((number, answer) for answer in log.read(value))

        _each(read.file, numbered, hear)
        try:
            counted, more = judged(
                log, answers, reward or next(iter(columns[1:]), None), correct_from, unscored
            )
        except ValueError as error:
            raise ValueError(f"{read.file}: {error}") from error
        numbered, told = [*enumerate(counted, 1)], (*told, *more)
    rows: dict[str | int, PromptRow] = {}
    seen: set[str] = set()

    def take(_: int, value: Any) -> None:
        made = row(value, by)
        if str(made.id) in seen:
            raise argument_error(
                "id", made.id, "each prompt once; a number and its digits as text are one id"
            )
        seen.add(str(made.id))
        rows[made.id] = made

    _each(read.file, numbered, take)
    if not rows:
        raise argument_error("file", str(read.file), "at least one row")
    if by is not None and all(made.category is None for made in rows.values()):
        raise argument_error("by", by, f"a field that rows of {read.file} hold")
    return Counts(source, rows, read.sha256, told, read.models)


def distinct_names(paths: Sequence[str | Path]) -> list[str]:
    """A name for each path: its last part; where others have the same, the way from their common folder.

    >>> distinct_names(["s1/run.jsonl", "s2/run.jsonl", "base.jsonl"])
    ['s1/run.jsonl', 's2/run.jsonl', 'base.jsonl']
    """
    whole, nth, found = [Path(path).absolute() for path in paths], Counter[Path](), []
    for path in whole:
        alike = {other for other in whole if other.name == path.name}
        name = path.name if len(alike) == 1 else str(path.relative_to(commonpath(alike)))
        nth[path] += 1
        found.append(name if nth[path] == 1 else f"{name}, {nth[path]}")
    return found
