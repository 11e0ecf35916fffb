"""Counts of a checkpoint, or of each step of a training, from files: rows of counts, or logs of answers."""

import hashlib
import importlib
import json
import re
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from os.path import commonpath
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from ..support.errors import argument_error
from ..support.files import require_unpackable
from ..support.record import read_record
from ..support.rows import READERS, CutOffError, json_document, json_lines, parsed_json
from .counts import Counts, PromptRow, is_number, prompt_row
from .logs import Questions, ReadingOptions, prompt_counts
from .shapes import (
    LoggedRow,
    RecordFormat,
    as_name,
    document_rows,
    is_worded,
    plain,
    repeated_columns,
    shape_of,
    split_lists,
    within,
)

_LISTED = 5
"""Wrong rows that an error lists; first rows by which a folder's shape is recognised."""
_EVALUATION = "evaluation.json"
_ABSENT = ("", "NA", "null", "None")
_AS_TEXT = ("id", "prompt", "input")
"""Columns whose cells stay text where a table is read; a completion in a table may read as a number."""
_LOGS = (".jsonl", ".parquet", ".csv", ".json", ".eval")


def read_counts(path: str | Path, **options: Any) -> Counts:
    """Read how many of a checkpoint's answers to each prompt are correct.

    Rows are {"id", "n", "c"}, with optional fields as in `prompt_row`, or those of an evaluation's record or
    a trainer's log (`shapes.toml`), recognised by their columns. An unfinished last line is left out and
    noted.

    Args:
        path: JSON lines, .json, .csv, .parquet (needs pyarrow) or .eval; or a folder of `dph evaluate`, of
            files of seeds, or of a training's steps, of which the last is read.
        **options: Fields of `ReadingOptions`.

    Raises:
        ValueError: If rows are wrong, with the file and the lines of the first, or if rows leave open what
            counts as correct, with the options that say it.

    Example:
        >>> read_counts("base.jsonl")  # doctest: +SKIP
        Counts('base.jsonl': 320 prompts, Pass@1 0.4606)
    """
    path, reading = Path(path), ReadingOptions(**options)
    with _naming(path):
        return _counts(_read(path, reading.prompts), str(path), reading)


def read_steps(path: str | Path, **options: Any) -> dict[int, Counts]:
    """Read the counts at each step of a training, from a field "step" or a folder with a file per step.

    Arguments and errors are those of `read_counts`.

    Example:
        >>> read_steps("validation")  # doctest: +SKIP
        {10: Counts('validation/10.jsonl': 500 prompts, Pass@1 0.41), 20: ...}
    """
    path, reading = Path(path), ReadingOptions(**options)
    if path.is_dir():
        return {step: read_counts(log, **options) for step, log in _log_files(path)}
    steps: dict[int, list[tuple[int, Any]]] = defaultdict(list)

    def take(number: int, value: Any) -> None:
        step = value.get("step") if isinstance(value, dict) else None
        if type(step) is not int:
            raise argument_error("step", step, "a whole number in each row")
        steps[step].append((number, value))

    with _naming(path):
        file = _read(path, reading.prompts)
        _take_rows(path, file.rows, take)
        return {
            step: _counts(file._replace(rows=rows), f"{path}, step {step}", reading)
            for step, rows in sorted(steps.items())
        }


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn exhausted memory or recursion into a ValueError that names the file."""
    try:
        yield
    except (MemoryError, RecursionError) as error:
        why = "too large for the memory" if isinstance(error, MemoryError) else "nested too deeply"
        raise ValueError(f"{path}: {why}") from error


def _log_files(folder: Path) -> list[tuple[int, Path]]:
    """(step, path) of a folder's logs, numbered as by verl or TRL, or its only log as step 0."""
    numbered = [(re.sub(r"\D", "", path.stem), path) for path in folder.iterdir() if path.suffix in _LOGS]
    if files := sorted((int(digits), path) for digits, path in numbered if digits):
        return files
    if len(numbered) == 1:
        return [(0, numbered[0][1])]
    allowed = f"a folder of files with numbers in their names, {', '.join(_LOGS)}"
    raise argument_error("folder", str(folder), allowed)


def _shards(folder: Path) -> list[Path]:
    """Log files of the same name in the folder's subfolders, each with some of the answers; else []."""
    files = [file for file in sorted(folder.glob("*/*")) if file.suffix in _LOGS]
    alone = not any(file.suffix in _LOGS for file in folder.iterdir())
    return files if alone and len({file.name for file in files}) == 1 else []


class _ReadFile(NamedTuple):
    """Files with their rows, hash, notes, the shape where a document shows it, and the models' hashes."""

    path: Path
    rows: list[tuple[int, Any]]
    sha256: str
    notes: tuple[str, ...] = ()
    shape: RecordFormat | None = None
    models: tuple[str | None, str | None] = (None, None)


def _read(path: Path, which: str | None) -> _ReadFile:
    """Read a file, or a folder: its evaluation, the log of its last step, or the answers of all seeds."""
    if not path.is_dir():
        return _read_file(path, which)
    if (path / _EVALUATION).is_file():
        return _read_file(path / _EVALUATION, which)
    files = _shards(path) or [file for _, file in _log_files(path)]
    unread = sorted(file.name for file in path.iterdir() if file.suffix in _LOGS and file not in files)
    unread = [f"without a number in its name, and not read: {', '.join(unread)}"] if unread else []
    last = _read_file(files[-1], which)
    if shape_of([row for _, row in last.rows[:_LISTED]]).by_step:
        return last._replace(notes=(*last.notes, *unread))
    if len(stems := {re.sub(r"[\d._T-]+", "", file.stem) for file in files}) > 1:
        allowed = f"a file: its files are of several tasks ({', '.join(sorted(stems))})"
        raise argument_error("file", str(path), allowed)
    seeds = [_read_file(file, which) for file in files]
    digest = hashlib.sha256("".join(sorted(seed.sha256 for seed in seeds)).encode()).hexdigest()
    notes = [f"the answers of {len(files)} files together"] if len(files) > 1 else [*last.notes]
    rows = [row for seed in seeds for row in seed.rows]
    return _ReadFile(path, rows, digest, (*notes, *unread), last.shape)


def _read_file(file: Path, which: str | None) -> _ReadFile:
    if not file.is_file():
        raise argument_error("file", str(file), "a file of counts; it is not there")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if file.name == _EVALUATION:
        rows, models = _evaluation(file, which)
        return _ReadFile(file, rows, digest, models=models)
    if file.suffix in (".csv", ".parquet"):
        table, texts = READERS[file.suffix](file), file.suffix == ".csv"
        return _ReadFile(file, [(number, _plain_row(row, texts)) for number, row in table], digest)
    document = _inspect(file) if file.suffix == ".eval" else None
    if file.suffix == ".json":
        try:
            document = json_document(file)
        except ValueError as error:
            # JSON lines are a document followed by others.
            if not (
                isinstance(error.__cause__, json.JSONDecodeError) and error.__cause__.msg == "Extra data"
            ):
                raise
    if document is not None:
        shape, values = document_rows(document)
        return _ReadFile(file, [*enumerate(values, 1)], digest, shape=shape)
    rows = [*json_lines(file)]
    if rows and isinstance(rows[-1][1], CutOffError):
        return _ReadFile(file, rows[:-1], digest, ("it ends in an unfinished line, which is left out",))
    return _ReadFile(file, rows, digest)


def _take_rows(path: Path, numbered: Sequence[tuple[int, Any]], take: Callable[[int, Any], None]) -> None:
    """Call take(line, row) for every row; a ValueError lists the lines of the first rows that fail."""
    wrong: list[str] = []
    for number, value in numbered:
        try:
            if isinstance(value, ValueError):
                raise value
            take(number, value)
        except ValueError as error:
            wrong.append(f"{path}:{number}: {error}")
    if wrong:
        more = [f"and {len(wrong) - _LISTED} more"] if len(wrong) > _LISTED else []
        raise ValueError("\n".join(wrong[:_LISTED] + more))


def _plain_row(row: Any, texts: bool) -> Any:
    """Table row with numbers and lists parsed from text, and integers restored that a gap made floats."""

    def cell(name: str, entry: Any) -> Any:
        if isinstance(entry, str) and name not in _AS_TEXT:
            absent = texts and entry.strip() in _ABSENT
            entry = None if absent else plain(entry) if texts or entry[:1] in ("[", "{") else entry
        if not isinstance(entry, float):
            return entry
        return (int(entry) if entry.is_integer() else entry) if is_number(entry) else None

    return {name: cell(name, entry) for name, entry in row.items()} if isinstance(row, Mapping) else row


def _inspect(path: Path) -> Any:
    """Samples (or their summaries) from an Inspect .eval archive, as a list of objects."""
    # Compressed by Zstandard, which zipfile reads from Python 3.14 on; before, Inspect's own reader does.
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            has_summaries = "summaries.json" in names
            parts = ["summaries.json"] if has_summaries else [x for x in names if x.startswith("samples/")]
            require_unpackable(path, (archive.getinfo(part).file_size for part in parts))
            values = [parsed_json(archive.read(part)) for part in parts]
            return {"samples": values[0] if has_summaries else values}
    except NotImplementedError:
        with suppress(ModuleNotFoundError):
            log = importlib.import_module("inspect_ai.log")
            samples = log.read_eval_log_sample_summaries(str(path))
            return {"samples": [sample.model_dump() for sample in samples]}
        allowed = "a log that can be read: pip install inspect-ai, or inspect log convert --to json"
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        allowed = f"a log of Inspect without damage ({error})"
    raise argument_error("file", str(path), allowed)


def _evaluation(path: Path, which: str | None) -> tuple[list[tuple[int, Any]], tuple[str | None, str | None]]:
    """Numbered rows for the prompts of an evaluation's set, and the hashes of its two models."""
    results = read_record(path, "full_scale.evaluation", "dph evaluate")["results"]
    sets = results["sets"]
    which = next(iter(sets)) if which is None and len(sets) == 1 else which
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


def _counts(file: _ReadFile, source: str, options: ReadingOptions) -> Counts:
    """Counts by prompt with notes, from a read file; ValueError if no rows remain."""
    numbered, notes, columns = file.rows, file.notes, ""
    first: Any = next((value for _, value in numbered if isinstance(value, Mapping)), {"n": 0, "c": 0})
    # Rows of counts may hold the prompt and more beside.
    counts = {"n", "c"} <= first.keys() or ("id" in first and isinstance(first.get("correct"), list))
    if options.column or options.reward or file.shape or not counts:
        try:
            counted, columns, more = _logged(file, options)
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
    return Counts(source, rows, file.sha256, notes, file.models, columns=columns)


def _logged(file: _ReadFile, options: ReadingOptions) -> tuple[list[dict[str, Any]], str, tuple[str, ...]]:
    """Counts of rows that are answers, the columns they were read from, and notes."""
    values: list[tuple[int, Any]] = []

    def take(number: int, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise argument_error("row", value, "an object, an answer")
        values.append((number, value))

    _take_rows(file.path, file.rows, take)
    shape, questions = file.shape or shape_of([value for _, value in values]), Questions()
    prompts = shape.prompt if options.column is None else [options.column]
    # A path that is asked for leads into the lists of a row as it stands.
    is_path = options.column not in (None, *shape.prompt) and "." in str(options.column)
    rows = [
        (number, row) for number, value in values for row in split_lists(value, [] if is_path else prompts)
    ]
    rows = [(number, row) for number, row in rows if shape.fits(row) or not shape.partial]
    name, repeated = _prompt_column([row for _, row in rows], prompts, options.column is None)
    if options.answer is not None:
        shape = replace(shape, answer=[options.answer])
    if name is None:
        questions[f"--id {quote(repeated[0])}"] = (
            f"no column is known to name the prompt; {_listed(repeated)}"
        )
    logged = [(number, shape.row(row, name or repeated[0], options.reward)) for number, row in rows]
    if name is not None and repeated and (why := _row_number(rows, logged, name, repeated[0])):
        questions[f"--id {quote(repeated[0])}"] = f"{why}, while {_listed(repeated)}"
    counts, column, notes = prompt_counts(shape, logged, options, questions)
    return counts, f"prompts by {name}, correct by {column}", notes


def _prompt_column(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], declared: bool
) -> tuple[str | None, list[str]]:
    """First of `columns` that all rows have, and repeated columns that may name the prompt as well."""
    present = [name for name in columns if all(within(row, name) is not None for row in rows)]
    repeated = repeated_columns(rows, scalars=not present) if declared else []
    if present or repeated:
        return next(iter(present), None), [name for name in repeated if name not in present[:1]]
    shown = ", ".join([*dict.fromkeys(name for row in rows for name in row)][:12]) or "none"
    missing = "no column names the prompt" if declared else f"no column {columns[0]!r} of all rows"
    raise ValueError(f"{missing} (columns: {shown}): name it with --id COLUMN; means say nothing by prompt")


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:_LISTED])} {'repeats' if len(names) == 1 else 'repeat'}"


def _row_number(
    rows: Sequence[tuple[int, Any]], logged: Sequence[tuple[int, LoggedRow]], name: str, other: str
) -> str:
    """Reason why a column numbers rows or answers and cannot name prompts; empty if it can."""
    if any(is_worded(within(row, name)) for _, row in rows):
        return ""
    names = {row.prompt for _, row in logged}
    if len(names) == len(logged):
        several = (len(x) > 1 for _, row in logged for x in row.cells.values() if isinstance(x, list))
        return "" if any(several) else f"each {name!r} stands once, as the number of a row does"
    both = zip(rows, logged, strict=True)
    pairs = {(row.prompt, as_name(within(value, other))) for (_, value), (_, row) in both}
    return f"a {name!r} has several texts, as the number of an answer does" if len(pairs) > len(names) else ""


def distinct_names(paths: Sequence[str | Path]) -> list[str]:
    """Name each path by its last part, or by the way from their common folder where others share it.

    Example:
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
