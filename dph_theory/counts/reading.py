"""Counts of a checkpoint, or of each step of a training, from files: rows of counts, or logs of answers."""

import csv
import hashlib
import importlib
import json
import math
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..support.errors import argument_error, choice
from ..support.record import read_record
from .logs import AS_TEXT, BY_STEP, LOGS, Answers, Log, step_files
from .pairs import Counts, PromptRow, row, votes

Numbered = Iterable[tuple[int, Any]]
"""Rows with the line of the file at which each stands."""
_NAMED = 5
"""So many wrong rows are told one by one."""
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
    evaluate`; `trainer`, "trl", "verl", "lm-eval" or "inspect" for its own log (`logs`), where each row is
    one answer and the prompt's text or number is its id (of a folder the file of the last step is read);
    `reward`, the log's column of verdicts, by default the only one; `correct_from`, the least reward of a
    correct answer; `allow_cut_off`, leave out an unfinished last line; `prompts`, which set of a folder of
    `dph evaluate`, by default the only one; `by`, the field of the rows that holds a prompt's category.
    .parquet needs the package datasets.

    A row may also hold "correct" (a 0 or 1 for each answer, in place of n and c) and with it "answer" (what
    each said, for maj@k), "log_ratio" (log pi - log ref of each answer, in nats) or their mean "kl", "style"
    (answers by style) and "k" (where Pass@k is wanted). Returns the rows by id. Raises ValueError naming the
    file and the line of each of the first wrong rows.

    >>> read_counts("base.jsonl")  # doctest: +SKIP
    Counts('base.jsonl': 320 prompts, Pass@1 0.4606)
    """
    path = Path(path)
    log = _log_of(path, trainer, by)
    if log is not None and path.is_dir():
        path = list(step_files(path).values())[-1]
    elif path.is_dir() and (path / _EVALUATION_FILE).is_file():
        path /= _EVALUATION_FILE
    numbered, digest, cut_off = _opened(path, trainer, prompts, allow_cut_off)
    rows = _by_id(path, numbered, by) if log is None else _of_log(path, numbered, log, reward, correct_from)
    evaluated = trainer is None and path.name == _EVALUATION_FILE
    return Counts(str(path.parent if evaluated else path), rows, digest.hexdigest(), cut_off[0])


def read_steps(path: str | Path, trainer: str | None = None, **how: Any) -> dict[int, Counts]:
    """The counts at each step of a training: rows with the field "step", or a folder with a file a step.

    Parameters and errors are those of `read_counts`.

    >>> read_steps("validation", "verl")  # doctest: +SKIP
    {10: Counts('validation/10.jsonl': 500 prompts, Pass@1 0.41), 20: ...}
    """
    path = Path(path)
    log = _log_of(path, trainer, how.get("by"))
    if path.is_dir():
        return {step: read_counts(file, trainer, **how) for step, file in step_files(path).items()}
    opened, digest, cut_off = _opened(path, trainer, None, how.get("allow_cut_off", False))
    steps: dict[int, list[tuple[int, Any]]] = defaultdict(list)

    def take(numbered: tuple[int, Any]) -> None:
        step = numbered[1].get("step") if isinstance(numbered[1], dict) else None
        if type(step) is not int:
            raise argument_error("step", step, "a whole number in each row")
        steps[step].append(numbered)

    _each(path, ((number, (number, value)) for number, value in opened), take)
    verdicts = how.get("reward"), how.get("correct_from", 1.0)
    found = {
        step: _by_id(path, rows, how.get("by")) if log is None else _of_log(path, rows, log, *verdicts)
        for step, rows in sorted(steps.items())
    }
    read = digest.hexdigest(), cut_off[0]
    return {step: Counts(f"{path}, step {step}", rows, *read) for step, rows in found.items()}


def _log_of(path: Path, trainer: str | None, by: str | None) -> Log | None:
    if trainer is None:
        return None
    choice("trainer", trainer, LOGS)
    if path.is_dir() and trainer not in BY_STEP:
        raise argument_error("file", str(path), f"a file of {trainer}: its folders may hold several tasks")
    if by is not None:
        raise argument_error("by", by, "None for a trainer's log: its rows are answers")
    return LOGS[trainer]


def _opened(
    path: Path, trainer: str | None, prompts: str | None, allow_cut_off: bool
) -> tuple[Numbered, Any, list[bool]]:
    """The rows of a file, its hash, and whether it was cut off, both known when all rows are read."""
    if not path.is_file():
        raise argument_error("file", str(path), "a file of counts; it is not there")
    digest, cut_off = hashlib.sha256(), [False]
    tables: dict[str, Callable[[Path], Numbered | None]] = {
        ".csv": _csv_rows, ".parquet": _parquet_rows, ".eval": _inspect_rows, ".json": _json_rows
    }  # fmt: skip
    numbered: Numbered | None = None
    if trainer is None and path.name == _EVALUATION_FILE:
        numbered = _evaluation_rows(path, prompts)
    elif path.suffix in tables:
        numbered = tables[path.suffix](path)
    if numbered is None:
        return _lines(path, digest.update, cut_off if allow_cut_off else None), digest, cut_off
    digest.update(path.read_bytes())
    return numbered, digest, cut_off


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
    as_text = {*AS_TEXT}
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


def _json_rows(path: Path) -> Numbered | None:
    """The rows of an array, of a table that wandb exports, of a log of Inspect; None for JSON lines."""
    try:
        found = json.loads(path.read_bytes())
    except (UnicodeDecodeError, json.JSONDecodeError):
        return None
    if isinstance(found, dict) and {"columns", "data"} <= found.keys():
        found = [dict(zip(found["columns"], cells, strict=True)) for cells in found["data"]]
    elif isinstance(found, dict) and "samples" in found:
        found = found["samples"] or []
    return enumerate(found, 1) if isinstance(found, list) else None


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
    return _some(path, found)


def _of_log(
    path: Path, numbered: Numbered, log: Log, reward: str | None, correct_from: float
) -> dict[str | int, PromptRow]:
    """One row a prompt from a log of answers."""
    found: dict[str, list[Answers]] = defaultdict(list)

    def take(value: Any) -> None:
        if not isinstance(value, Mapping):
            raise argument_error("row", value, "an object, an answer")
        answers = log(value, reward, correct_from)
        if answers.n:
            found[answers.prompt].append(answers)

    _each(path, numbered, take)
    rows: dict[str | int, PromptRow] = {}
    for prompt, each in found.items():
        said = [(a.said, a.c) for a in each if a.said is not None]
        told = votes(said) if len(said) == len(each) else None
        rows[prompt] = PromptRow(prompt, sum(a.n for a in each), sum(a.c for a in each), votes=told)
    return _some(path, rows)


def _some(path: Path, rows: dict[str | int, PromptRow]) -> dict[str | int, PromptRow]:
    if not rows:
        raise argument_error("file", str(path), "at least one row")
    return rows
