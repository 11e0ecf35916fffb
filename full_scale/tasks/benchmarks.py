"""Examples from published data: BIRD and Spider with their databases, maths, prompts with answers."""

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic.dataclasses import dataclass

from dph_theory.support.checking import CHECKED
from dph_theory.support.errors import argument_error
from dph_theory.support.rows import READERS, json_document

from ..storage.places import require_here
from .protocol import Prompt
from .verifiers.extract import last_boxed, tagged
from .verifiers.sandbox import connect

_TURN = ("role", "content")


class DataRow(NamedTuple):
    """One row, and its place in the data."""

    where: str
    values: Mapping[str, Any]

    def text(self, *fields: str) -> str:
        """First of the fields that the row has, as text; ValueError if it has none, or if it is not text."""
        for field in fields:
            value = self.values.get(field)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return str(value)
            if value is not None:
                if not isinstance(value, str) or not value.strip():
                    raise argument_error(f"{self.where}: {field}", value, "some text, or a number")
                return value
        raise ValueError(
            f"{self.where} has no field {' or '.join(map(repr, fields))}, only {sorted(self.values)}"
        )

    def conversation(self, field: str) -> tuple[str, tuple[dict[str, str], ...]]:
        """Field as text, and as messages if it is a list of messages; ValueError for anything else."""
        value = self.values.get(field)
        if not isinstance(value, list):
            return self.text(field), ()
        for turn in value:
            is_message = isinstance(turn, dict) and all(isinstance(turn.get(key), str) for key in _TURN)
            if not is_message:
                raise argument_error(f"{self.where}: {field}", turn, "messages, each with role and content")
        if not value or value[-1]["role"] == "assistant":
            raise argument_error(f"{self.where}: {field}", value, "a conversation that awaits an answer")
        turns = tuple({"role": turn["role"], "content": turn["content"]} for turn in value)
        return "\n\n".join(f"{turn['role']}: {turn['content']}" for turn in turns), turns


def read_rows(
    data: str, *, files: Sequence[str] = (), split: str = "train", subset: str | None = None
) -> list[DataRow]:
    """Read all rows of `data` as `stream_rows` does; ValueError if there are none."""
    rows = [*stream_rows(data, files=files, split=split, subset=subset)]
    if not rows:
        raise argument_error("data", data, "a source with at least one row")
    return rows


def stream_rows(
    data: str, *, files: Sequence[str] = (), split: str = "train", subset: str | None = None
) -> Iterator[DataRow]:
    """Yield the rows of a JSON, JSONL, CSV or Parquet file, of a folder with one of `files`, or of a dataset.

    Only a JSON file is read at once. A dataset is a folder or a name for `datasets.load_dataset`, to which
    `split` and `subset` apply. Code that comes with data is never run. ValueError names what is missing, or
    the line that is not a JSON object.
    """
    path = Path(data).expanduser()
    present = [path] if path.is_file() else [path / name for name in files if (path / name).is_file()]
    if not present:
        yield from _read_dataset(path, data, split, subset, files)
        return
    for where, values in _file_rows(present[0]):
        if isinstance(values, ValueError):
            raise ValueError(f"{where} {values}") from values
        yield _row(where, values)


ALLOWED = "a JSON, JSONL, CSV or Parquet file, a folder, or the name of a dataset"


def _file_rows(file: Path) -> Iterator[tuple[str, Any]]:
    if file.suffix == ".json":
        rows = json_document(file)
        if not isinstance(rows, list):
            raise ValueError(f"{file} holds no list of rows, but a {type(rows).__name__}")
        return ((f"{file} row {number}", row) for number, row in enumerate(rows))
    if file.suffix not in READERS:
        raise argument_error("data", str(file), ALLOWED)
    unit = "row" if file.suffix == ".parquet" else "line"
    return ((f"{file} {unit} {number}", row) for number, row in READERS[file.suffix](file))


def _row(where: str, values: Any) -> DataRow:
    if not isinstance(values, dict):
        raise ValueError(f"{where} is no JSON object, but a {type(values).__name__}")
    try:
        json.dumps(values, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ValueError(f"{where} holds {half!r}, half a character that no file can hold") from error
    return DataRow(where, values)


def _read_dataset(
    path: Path, data: str, split: str, subset: str | None, files: Sequence[str]
) -> Iterator[DataRow]:
    require_here("data", data, ALLOWED)
    from datasets import load_dataset

    name = str(path) if path.is_dir() else data
    try:
        rows = load_dataset(name, subset, split=split)
    except (OSError, ValueError) as error:
        layout = f" with one of {tuple(files)}" if files else ""
        allowed = f"{ALLOWED}{layout}; as a dataset: {error}"
        raise argument_error("data", data, allowed) from error
    for number, row in enumerate(rows):
        yield _row(f"{name} ({split}) row {number}", row)


BIRD_PROMPT = """{schema}

External knowledge: {evidence}
Question: {question}

Answer with one SQLite query in a ```sql block."""
SPIDER_PROMPT = """{schema}

Question: {question}

Answer with one SQLite query in a ```sql block."""
MATHS_PROMPT = r"""{question}

Please reason step by step, and put your final answer within \boxed{{}}."""


@dataclass(frozen=True, config=CHECKED)
class ExampleSource:
    """Source of the examples of one set, and their prompt format."""

    task: str = ""
    """`bird`, `spider`, `maths`, `dataset` or `dph-rl`: selects fields and files."""
    data: str = ""
    """A JSON or JSONL file, a folder in the published layout, or the name of a dataset."""
    databases: str | None = None
    """SQL: folder of the databases, if different from the published layout."""
    split: str = "train"
    """File of the published layout (`train` or `dev`), or split of a dataset."""
    subset: str | None = None  # Configuration of a dataset, such as `main`.
    limit: int | None = None  # Maximal number of examples, from the beginning.
    template: str | None = None
    """Prompt template with {schema}, {question} and {evidence} (SQL) or {question} (maths)."""
    question: str | None = None
    """Maths and `dataset`: field of the question, if unusual (`dataset`: other than `prompt`)."""
    answer: str | None = None  # Maths and `dataset`: field of the answer, if unusual.
    verifier: str | None = None
    """`dataset`: `module:function` of (answer, row) that returns true or false, or a reward function of TRL;
    it replaces math-verify.
    """


class Layout(NamedTuple):
    """Published layout of a benchmark: files by split, and the conversion of a row to an example."""

    files: Mapping[str, tuple[str, ...]]
    verifier: str
    example: Callable[[ExampleSource, DataRow, str], Prompt]


def examples(source: ExampleSource, name: str) -> list[Prompt]:
    """Examples of the set `name` with ids `<name>/<row>`; ValueError names the bad file, row and field."""
    if source.limit is not None and source.limit < 1:
        raise argument_error("limit", source.limit, "at least 1")
    layout = LAYOUTS[source.task]
    files = layout.files.get(source.split, ())
    rows = read_rows(source.data, files=files, split=source.split, subset=source.subset)
    return [layout.example(source, row, f"{name}/{at}") for at, row in enumerate(rows[: source.limit])]


def has_split(task: str, data: str, split: str) -> bool:
    """True if a folder has a file of that split in the task's published layout."""
    return any((Path(data).expanduser() / file).is_file() for file in LAYOUTS[task].files.get(split, ()))


def schema_text(database: Path) -> str:
    """CREATE statements of a database, as shown in a prompt; sqlite3.Error if it cannot be read."""
    return _schema_text(database, database.stat().st_mtime_ns)


@lru_cache(maxsize=1024)
def _schema_text(database: Path, _changed: int) -> str:
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
    with contextlib.closing(connect(database)) as connection:
        return "\n".join(f"{sql};" for (sql,) in connection.execute(query))


# Field of the gold query, and the prompt.
_QUERY_FIELDS = {"bird": ("SQL", BIRD_PROMPT), "spider": ("query", SPIDER_PROMPT)}


def _sql(source: ExampleSource, row: DataRow, identity: str) -> Prompt:
    field, template = _QUERY_FIELDS[source.task]
    database, query = _database(source, row), row.text(field)
    try:
        schema = schema_text(database)
    except sqlite3.Error as error:
        raise ValueError(f"{row.where}: {database} cannot be read: {error}") from error
    evidence = row.values.get("evidence") or "none"
    places = {"schema": schema, "question": row.text("question"), "evidence": evidence}
    reference = {"verifier": "sql", "match": source.task, "database": str(database), "query": query}
    return Prompt(identity, filled(source.template or template, **places), reference)


def _database(source: ExampleSource, row: DataRow) -> Path:
    """Database of the row: `<db_id>/<db_id>.sqlite` in one of the folders of the published layouts."""
    data = Path(source.data).expanduser()
    name = row.text("db_id")
    if Path(name).name != name:
        raise argument_error(f"{row.where}: db_id", name, "the plain name of a folder")
    if source.databases is None and not data.exists():
        raise argument_error("databases", None, "the folder of databases must be given with a dataset's name")
    root = Path(source.databases or (data.parent if data.is_file() else data)).expanduser()
    splits = sorted(("train", "dev"), key=lambda split: split != source.split)
    folders = ("", "database", *(f"{a}{split}_databases" for split in splits for a in ("", f"{split}/")))
    for folder in folders:
        file = root / folder / name / f"{name}.sqlite"
        if file.is_file():
            return file.resolve()
    raise argument_error(
        f"{row.where}: db_id", name, f"there must be a {name}/{name}.sqlite in {root} or its {folders[1:]}"
    )


def _maths(source: ExampleSource, row: DataRow, identity: str) -> Prompt:
    question = row.text(*([source.question] if source.question else ("problem", "question", "prompt")))
    reference = _answer(source, row, "answer", "solution")
    if reference["answer"] is None:
        allowed = r"the answer must stand in a \boxed{} or after ####"
        raise argument_error(f"{row.where}: solution", row.text("solution"), allowed)
    return Prompt(identity, filled(source.template or MATHS_PROMPT, question=question), reference)


def _dataset(source: ExampleSource, row: DataRow, identity: str) -> Prompt:
    """Prompt of a row, text or conversation, with the answer or reference that its verifier uses."""
    prompt, turns = row.conversation(source.question or "prompt")
    if source.template is not None:
        prompt, turns = filled(source.template, question=prompt), ()
    if source.verifier not in (None, "maths"):
        answer = {"answer": row.text(source.answer)} if source.answer else {}
        return Prompt(identity, prompt, {**row.values, **answer, "verifier": source.verifier}, turns)
    return Prompt(identity, prompt, _answer(source, row, "answer"), turns)


def _answer(source: ExampleSource, row: DataRow, *usual: str) -> dict[str, Any]:
    """Reference of a maths row: the answer in `source.answer`, or in the first of the fields `usual`.

    The mark of the benchmark is removed: #### in GSM8K, a box in MATH.
    """
    # Other answers stand alone; a solution without such a mark has none.
    given = row.text(*([source.answer] if source.answer else usual))
    alone = source.answer or row.values.get("answer") is not None
    answer = tagged(given) or last_boxed(given) or (given.strip() if alone else None)
    return {"verifier": "maths", "answer": answer}


def _dph_rl(source: ExampleSource, row: DataRow, identity: str) -> Prompt:
    prompt, turns = row.conversation("prompt")
    truth = row.values.get("reward_model", {}).get("ground_truth", {})
    missing = [name for name in ("db_id", "gold_sql", "cmp_method") if not isinstance(truth.get(name), str)]
    if missing:
        raise ValueError(f"{row.where} has no text in reward_model.ground_truth.{missing[0]}")
    if source.databases is None:
        raise argument_error("databases", None, "the folder that holds the databases which db_id names")
    root = Path(source.databases).expanduser().resolve()
    database = (root / truth["db_id"]).resolve()
    if not database.is_file() or root not in database.parents:
        raise argument_error(f"{row.where}: db_id", truth["db_id"], f"a database below {root}")
    reference = {"match": truth["cmp_method"], "database": str(database), "query": truth["gold_sql"]}
    return Prompt(identity, prompt, {"verifier": "sql", **reference}, turns)


def filled(template: str, **values: str) -> str:
    """Fill a template's placeholders; ValueError for an unknown placeholder."""
    try:
        return template.format(**values)
    except (ValueError, LookupError, AttributeError) as error:
        allowed = f"the places {sorted(values)}, other braces doubled"
        raise argument_error("template", template, allowed) from error


_TRAIN_AND_TEST = {"train": ("train.jsonl", "train.json"), "dev": ("test.jsonl", "test.json")}
LAYOUTS = {
    "bird": Layout(
        {"train": ("train.json", "train/train.json"), "dev": ("dev.json", "dev/dev.json")}, "sql", _sql
    ),
    "spider": Layout({"train": ("train_spider.json",), "dev": ("dev.json",)}, "sql", _sql),
    "maths": Layout(_TRAIN_AND_TEST, "maths", _maths),
    "dataset": Layout(_TRAIN_AND_TEST, "maths", _dataset),
    "dph-rl": Layout({"train": ("bird_train.jsonl",), "dev": ("bird_dev.jsonl",)}, "sql", _dph_rl),
}
