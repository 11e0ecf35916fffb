"""Counts of a checkpoint, or of each step of a training, from files: rows of counts, or logs of answers."""

import csv
import hashlib
import importlib
import json
import math
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..support.errors import argument_error, choice
from ..support.record import read_record
from .logs import AS_TEXT, LOGS, UNSCORED, Answer, Log, Verdicts, judge, recognised, step_files
from .pairs import Counts, PromptRow, row, votes

Numbered = list[tuple[int, Any]]
"""Rows with the line of the file at which each stands; one that cannot be read is the error."""
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
    correct_from: float | None = None,
    unscored: str | None = None,
    allow_cut_off: bool = False,
    prompts: str | None = None,
    by: str | None = None,
) -> Counts:
    """How many of a checkpoint's answers to each prompt are correct, from a file.

    Parameters: `path`, JSON lines or .csv or .parquet of rows {"id", "n", "c"}, a log of answers, or a folder
    of `dph evaluate`; `trainer`, "trl", "verl", "lm-eval" or "inspect", whose log it is (`logs`), by default
    whose columns it has: there each row is one answer and the prompt's text or number is its id (of a folder
    the file of the last step is read); `reward`, the log's column of rewards, by default the only one;
    `correct_from`, the least reward of a right answer, by default 1 of two values; `unscored`, "wrong" or
    "omit", what is made of answers without a reward, which are otherwise an error; `allow_cut_off`, leave
    out an unfinished last line; `prompts`, which set of a folder of `dph evaluate`, by default the only one;
    `by`, the field of the rows that holds a prompt's category. .parquet needs the package datasets.

    A row may also hold "correct" (a 0 or 1 for each answer, in place of n and c) and with it "answer" (what
    each said, for maj@k), "log_ratio" (log pi - log ref of each answer, in nats) or their mean "kl", "style"
    (answers by style) and "k" (where Pass@k is wanted). Returns the rows by id. Raises ValueError naming the
    file and the line of each of the first wrong rows.

    >>> read_counts("base.jsonl")  # doctest: +SKIP
    Counts('base.jsonl': 320 prompts, Pass@1 0.4606)
    """
    if unscored is not None:
        choice("unscored", unscored, UNSCORED)
    file = _file_of(Path(path), trainer)
    rows, digest, cut_off = _rows(file, trainer, prompts, allow_cut_off)
    log = _log_of(rows, trainer, by)
    counted, told = _counted(file, rows, log, by, (reward, correct_from, unscored))
    evaluated = file.name == _EVALUATION_FILE and trainer is None
    source, models = (file.parent, _models(file)) if evaluated else (file, (None, None))
    return Counts(str(source), counted, digest, cut_off, told, models)


def read_steps(path: str | Path, trainer: str | None = None, **how: Any) -> dict[int, Counts]:
    """The counts at each step of a training: rows with the field "step", or a folder with a file a step.

    Parameters and errors are those of `read_counts`.

    >>> read_steps("validation", "verl")  # doctest: +SKIP
    {10: Counts('validation/10.jsonl': 500 prompts, Pass@1 0.41), 20: ...}
    """
    path = Path(path)
    file = _file_of(path, trainer)
    if path.is_dir():
        return {step: read_counts(each, trainer, **how) for step, each in step_files(path).items()}
    rows, digest, cut_off = _rows(file, trainer, None, how.get("allow_cut_off", False))
    steps: dict[int, Numbered] = defaultdict(list)

    def take(number: int, value: Any) -> None:
        step = value.get("step") if isinstance(value, dict) else None
        if type(step) is not int:
            raise argument_error("step", step, "a whole number in each row")
        steps[step].append((number, value))

    _each(path, rows, take)
    log, by = _log_of(rows, trainer, how.get("by")), how.get("by")
    verdicts = how.get("reward"), how.get("correct_from"), how.get("unscored")
    found = {step: _counted(path, of, log, by, verdicts) for step, of in sorted(steps.items())}
    return {
        step: Counts(f"{path}, step {step}", counted, digest, cut_off, told)
        for step, (counted, told) in found.items()
    }


def _file_of(path: Path, trainer: str | None) -> Path:
    """The file that is read: of a folder, an evaluation, or the log of the last step."""
    if trainer is not None:
        choice("trainer", trainer, LOGS)
    if path.is_file():
        return path
    if not path.is_dir():
        raise argument_error("file", str(path), "a file of counts; it is not there")
    if trainer is None and (path / _EVALUATION_FILE).is_file():
        return path / _EVALUATION_FILE
    if trainer is not None and not LOGS[trainer].by_step:
        raise argument_error("file", str(path), f"a file of {trainer}: its folders may hold several tasks")
    return list(step_files(path).values())[-1]


def _log_of(rows: Numbered, trainer: str | None, by: str | None) -> Log | None:
    """The log that the trainer writes, or that the first row is of; None for rows of counts."""
    trainer = trainer or (recognised(rows[0][1]) if rows else None)
    if trainer is not None and by is not None:
        raise argument_error("by", by, "None for a trainer's log: its rows are answers")
    return None if trainer is None else LOGS[trainer]


def _rows(
    path: Path, trainer: str | None, prompts: str | None, allow_cut_off: bool
) -> tuple[Numbered, str, bool]:
    """The rows of a file, its hash, and whether it was cut off."""
    tables: Mapping[str, Callable[[Path], Iterable[tuple[int, Any]] | None]] = {
        ".csv": _csv_rows, ".parquet": _parquet_rows, ".eval": _inspect_rows, ".json": _json_rows
    }  # fmt: skip
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if trainer is None and path.name == _EVALUATION_FILE:
        return list(_evaluation_rows(path, prompts)), digest, False
    found = tables[path.suffix](path) if path.suffix in tables else None
    rows = list(_lines(path) if found is None else found)
    cut_off = allow_cut_off and bool(rows) and isinstance(rows[-1][1], _CutOffError)
    return rows[: len(rows) - cut_off], digest, cut_off


class _CutOffError(ValueError):
    """The last line of a file is unfinished."""


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


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The values of JSON lines; a line that is none is given as the error."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                if line.strip():
                    yield number, json.loads(line)
            except (UnicodeDecodeError, json.JSONDecodeError) as error:
                whole = line.endswith(b"\n")
                wrong = (
                    ValueError(f"no JSON: {error}")
                    if whole
                    else _CutOffError("the file is cut off in this line")
                )
                yield number, wrong


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


def _models(path: Path) -> tuple[str | None, str | None]:
    """The hashes of an evaluation's model and of its initial model, where it has them."""
    results = read_record(path, _EVALUATION, "dph evaluate")["results"]
    model, initial = ((results.get(name) or {}).get("hash") for name in ("model", "initial"))
    return model, initial


def _json_rows(path: Path) -> Iterable[tuple[int, Any]] | None:
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


def _inspect_rows(path: Path) -> Iterable[tuple[int, Any]]:
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


def _counted(
    path: Path, rows: Numbered, log: Log | None, by: str | None, verdicts: Verdicts
) -> tuple[dict[str | int, PromptRow], tuple[str, ...]]:
    """The rows by prompt, and what is to be told of them; ValueError where there are none."""
    counted, told = (_by_id(path, rows, by), ()) if log is None else _of_log(path, rows, log, verdicts)
    if not counted:
        raise argument_error("file", str(path), "at least one row")
    return counted, told


def _by_id(path: Path, numbered: Numbered, by: str | None) -> dict[str | int, PromptRow]:
    found: dict[str | int, PromptRow] = {}
    seen: set[str] = set()

    def take(_: int, value: Any) -> None:
        made = row(value, by)
        if str(made.id) in seen:
            raise argument_error(
                "id", made.id, "each prompt once; a number and its digits as text are one id"
            )
        seen.add(str(made.id))
        found[made.id] = made

    _each(path, numbered, take)
    if by is not None and all(made.category is None for made in found.values()):
        raise argument_error("by", by, f"a field that rows of {path} hold")
    return found


def _of_log(
    path: Path, numbered: Numbered, log: Log, verdicts: Verdicts
) -> tuple[dict[str | int, PromptRow], tuple[str, ...]]:
    """One row a prompt from a log of answers, and what is to be told of its rewards."""
    answers: list[tuple[int, Answer]] = []

    def take(number: int, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise argument_error("row", value, "an object, an answer")
        answers.append((number, log.answer(value)))

    _each(path, numbered, take)
    if not answers:
        return {}, ()
    try:
        judged, told = judge(log, answers, verdicts)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    by_prompt: dict[str, list[tuple[int, int, Any]]] = defaultdict(list)
    for prompt, *counts in judged:
        by_prompt[prompt].append((counts[0], counts[1], counts[2]))
    rows: dict[str | int, PromptRow] = {}
    for prompt, each in by_prompt.items():
        heard = [(str(said), c) for _, c, said in each if said is not None]
        given = votes(heard) if len(heard) == len(each) else None
        rows[prompt] = PromptRow(prompt, sum(n for n, *_ in each), sum(c for _, c, _ in each), votes=given)
    return rows, told


def distinct_names(paths: Sequence[str | Path]) -> list[str]:
    """A name for each path: its last part, with as many of the parts before as tell it from the others.

    >>> distinct_names(["s1/run.jsonl", "s2/run.jsonl", "base.jsonl"])
    ['s1/run.jsonl', 's2/run.jsonl', 'base.jsonl']
    """
    each = [*dict.fromkeys(map(Path, paths))]
    parts, names = [path.parts for path in each], [path.name for path in each]
    for size in range(2, max(map(len, parts), default=0) + 1):
        often = Counter(names)
        names = [
            "/".join(of[-size:]) if often[name] > 1 else name for of, name in zip(parts, names, strict=True)
        ]
    named, nth, found = dict(zip(each, names, strict=True)), Counter[Path](), []
    for path in map(Path, paths):
        nth[path] += 1
        found.append(named[path] if nth[path] == 1 else f"{named[path]}, {nth[path]}")
    return found
