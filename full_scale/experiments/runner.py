"""One runner of experiments: predict, run what is missing, judge, store, report.

An experiment of the record is declared as a `Study` in a light module: one that imports neither torch nor
transformers nor TRL, so that `dph experiment --list` answers at once. Trainings live in modules of their own,
which a `Step` names as "module:function" and only worker processes import. To add an experiment:

1. Write its settings as a frozen dataclass, a `Settings` with the fields `experiment` and `seed` and a
   property `id`, and two functions that return them: all that are declared, and a quick few.
2. Write its predictions as `Claim`s, each with a rival, a value of one seed's runs, and a band. The runner
   stores them before the first run starts, and a report shows all of them, whatever became of them.
3. Write a function that makes one run, and returns the measurements along its course as a dataclass. What
   else is to be computed before a run (a forecast) or after it (an explanation) is a function too.
4. Write `steps(store, runs, options)`, a generator of `Step`s: rows of a kind, and by name the arguments that
   make them. A step is finished before the next one is asked for, so that a later one may read the rows of
   an earlier one. Steps before that of kind RUN are predictions.
5. Write `report(store, runs, options)`: tables, sentences, and the numbers of the record that figures read.

Then put the `Study` into STUDIES, and give it a command in `full_scale.cli`. Rows are kept in a journal below
the folder of the runs, each as it is made: a stopped command goes on from there.
"""

import json
import lzma
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error, choice
from dph_theory.support.files import write_bytes, write_json
from dph_theory.support.journal import Journal, fill
from dph_theory.support.processes import prepared
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json, from_json, record
from dph_theory.support.table import Table

from .claims import Claim

CLAIM, RUN = "claim", "run"
"""The kinds of rows that every study has: its predictions in words, and its runs."""
PACKAGES = ("numpy", "torch", "transformers", "trl", "peft")
STUDIES = {"small-llama": "small_llama.study", "pretrained": "pretrained.study", "sql": "sql.study"}
"""By the name of its command the module here whose STUDY it is."""


@dataclass(frozen=True)
class StudyOptions:
    """What a command is to run and to write, as `dph experiment NAME --help` says; `model` is "" if none."""

    folder: Path
    quick: bool = False
    only: str | None = None
    seeds: int | None = None
    listed: bool = False
    packed: Path | None = None
    json_path: Path | None = None
    pack: Path | None = None
    workers: int = 1
    model: str = ""
    expected_gradient: bool = False


@dataclass(frozen=True)
class Step:
    """Rows of a kind, made by a function "module:function" from the arguments that stand by each name."""

    kind: str
    function: str
    jobs: Mapping[str, tuple[Any, ...]]
    side_by_side: bool = False
    """Whether several workers may make them."""
    anew: bool = False
    """Whether rows that are there are made again."""


class RunStore:
    """Rows in a journal, by their kind and the name of the job that made them.

    What comes before a run (a prediction, an expected-gradient run) is a row of its own, made before the
    run is. `bases` is the folder of the models that runs start from. Without an identity rows are only read.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any] | None) -> None:
        self.bases = folder / "bases"
        self.journal = Journal(folder / "journal.jsonl", identity)

    def write(self, kind: str, name: str, row: Any) -> None:
        """Write a row down, on the disk before this returns; it replaces one of the same name."""
        self.journal[_key(kind, name)] = row

    def read(self, kind: str, row_type: Any, names: Iterable[str] | None = None) -> dict[str, Any]:
        """The rows of a kind by name: those of `names`, or all; a list is a tuple of that type."""
        if names is None:
            names = [key.partition("/")[2] for key in self.journal if key.startswith(_key(kind, ""))]
        keys = {name: _key(kind, name) for name in names}
        return {name: _as(row_type, self.journal[key]) for name, key in keys.items() if key in self.journal}

    def missing(self, kind: str, names: Iterable[str]) -> list[str]:
        """The names that have no such row yet, in order, each once."""
        return [name for name in dict.fromkeys(names) if _key(kind, name) not in self.journal]

    def fill(self, steps: Iterable[Step], workers: int = 1, progress: Progress = silent) -> None:
        """Make the rows of steps that are not there; `progress` gets (kind, done, jobs)."""
        for step in steps:
            # One experiment makes several kinds of rows: what their workers import is imported once.
            needed = step.anew or self.missing(step.kind, step.jobs)
            fill(
                self.journal,
                partial(_quietly, step.function),
                {_key(step.kind, name): job for name, job in step.jobs.items()},
                done=partial(progress, step.kind),
                workers=workers if step.side_by_side else 1,
                anew=step.anew,
                one_torch_thread=True,
                context=prepared(step.function.partition(":")[0]) if needed else None,
            )

    def pack(self, path: Path, *, without: str | None = None) -> None:
        """Write the rows but those of a kind, compressed, a line each, as `adopt` reads them.

        Six digits, but for a row's run, whose id is its content.
        """
        rows = [(*key.split("/", 1), row) for key, row in self.journal.items()]
        lines = [
            json.dumps({"what": kind, "name": name, "row": _rounded(row, 6)}, separators=(",", ":"))
            for kind, name, row in rows
            if kind != without
        ]
        write_bytes(path, lzma.compress("\n".join(lines).encode(), preset=9))

    def adopt(self, packed: Path) -> None:
        """Add the rows of a file that `pack` wrote, but for those that are here already."""
        try:
            lines = [json.loads(line) for line in lzma.decompress(packed.read_bytes()).splitlines()]
            rows = {_key(line["what"], line["name"]): line["row"] for line in lines}
        except (lzma.LZMAError, ValueError, KeyError) as error:
            raise argument_error("from", str(packed), f"a file that --pack wrote ({error})") from error
        for key, row in rows.items():
            if key not in self.journal:
                self.journal[key] = row


@dataclass(frozen=True)
class StudyReport:
    """What a command prints; and its config and results for the record, computed when that is written."""

    tables: Sequence[Table]
    sentences: Sequence[str]
    numbers: Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]]]


@dataclass(frozen=True)
class Study:
    """Experiments that share settings, a store and a report; the module says how to declare one."""

    name: str
    """Of its command, and of the folder of its rows."""
    kind: str
    """Of its record."""
    questions: Mapping[str, str]
    """What each experiment asks, by name."""
    declared: Callable[[], Sequence[Any]]
    quick: Callable[[], Sequence[Any]]
    steps: Callable[[RunStore, Sequence[Any], StudyOptions], Iterator[Step]]
    report: Callable[[RunStore, Sequence[Any], StudyOptions], StudyReport]
    identity: Callable[[StudyOptions], Mapping[str, Any]]
    """What all rows depend on."""
    claims: Sequence[Claim] = ()
    left_out: str | None = None
    """A kind of rows that --pack leaves out, since they are computed again at no cost."""

    def runs(self, only: str | None = None, seeds: int | None = None) -> list[Any]:
        """The runs of all experiments or of one, with at most so many seeds; ValueError for another name."""
        if only is not None:
            choice("only", only, self.questions)
        runs = [run for run in self.declared() if only in (None, run.experiment)]
        first = {None, *sorted({run.seed for run in runs if run.seed is not None})[:seeds]}
        return [run for run in runs if run.seed in first]


def run_study(study: Study, options: StudyOptions, progress: Progress = silent) -> StudyReport:
    """Run what is declared and not finished, unless it is to be listed, and report what came of it."""
    runs = study.quick() if options.quick else study.runs(options.only, options.seeds)
    reads_only = options.listed and options.packed is None
    store = RunStore(options.folder / study.name, None if reads_only else study.identity(options))
    if options.packed is not None:
        store.adopt(options.packed)
    if not options.listed:
        for claim in study.claims:
            if store.missing(CLAIM, [claim.name]):
                row = {"says": claim.statement, "rival": claim.rival, "band": claim.band}
                store.write(CLAIM, claim.name, row)
        store.fill(study.steps(store, runs, options), options.workers, progress)
    report = study.report(store, runs, options)
    if options.json_path is not None:
        config, results = report.numbers()
        stored: Any = {"config": config, "results": results, "findings": report.sentences}
        write_json(options.json_path, record(study.kind, seed=0, packages=PACKAGES, **stored))
    if options.pack is not None:
        store.pack(options.pack, without=study.left_out)
    if not options.listed:
        return report
    done = _done(study, runs, store)
    words = [f"{name}: {counts} runs done. {question}" for name, question, counts in done]
    return replace(report, sentences=[*words, *report.sentences])


def study_named(name: str) -> Study:
    """The study of that command."""
    study: Study = import_module(f"{__package__}.{STUDIES[name]}").STUDY
    return study


def list_studies(folder: Path) -> Table:
    """All experiments that are declared, and how many of their runs are finished in the folder."""
    rows = []
    for study in map(study_named, STUDIES):
        store = RunStore(folder / study.name, None)
        rows += [(study.name, name, done) for name, _, done in _done(study, study.declared(), store)]
    return Table.from_rows(("study", "experiment", "finished runs"), rows)


def _done(study: Study, runs: Sequence[Any], store: RunStore) -> list[tuple[str, str, str]]:
    """Each experiment of these runs, its question, and how many of its runs are done."""
    missing = {*store.missing(RUN, [run.id for run in runs])}
    declared = Counter(run.experiment for run in runs)
    done = Counter(run.experiment for run in runs if run.id not in missing)
    return [(name, study.questions.get(name, ""), f"{done[name]} of {n}") for name, n in declared.items()]


def _key(kind: str, name: str) -> str:
    return f"{kind}/{name}"


def _quietly(function: str, job: tuple[Any, ...]) -> Any:
    """No progress bars and notes of transformers: runs are short and many."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    module, _, name = function.partition(":")
    return getattr(import_module(module), name)(*job)


def _as(row_type: Any, row: Any) -> Any:
    if isinstance(row, list):
        return tuple(from_json(row_type, part) for part in row)
    return from_json(row_type, row)


def _rounded(row: Any, digits: int) -> Any:
    rounded = as_json(row, digits)
    return rounded | {"run": row["run"]} if isinstance(row, dict) and "run" in row else rounded
