"""The runner of experiments: predict, run the missing trainings, judge, store, report.

An experiment of the record is declared as a `Study` in a light module: one that imports neither torch nor
transformers nor TRL, so that `dph experiment --list` responds at once. Trainings live in other modules, which
a `Step` names as "module:function" and only worker processes import. To add an experiment:

1. Write its settings as a frozen dataclass, a `Settings` with the fields `experiment` and `seed` and a
   property `id`, and two functions that return runs: all declared ones, and a quick few.
2. Write its predictions as `Claim`s, each with a rival, a value computed from one seed's runs, and a band.
   The runner stores them before the first run starts, and a report shows them all, whatever the outcome.
3. Write a function that makes one run, and returns the measurements along its course as a dataclass. Other
   computations before a run (a forecast) or after it (an explanation) are functions too.
4. Write `steps(store, runs, options)`, a generator of `Step`s: rows of a kind, and for each name the
   arguments that make the row. A step is finished before the next one is requested, so that later steps may
   read its rows. Steps before that of kind RUN are predictions.
5. Write `report(store, runs, options)`: tables, sentences, and the numbers of the record that figures read.

Then add the `Study` to STUDIES, and a command to `full_scale.cli`. Rows are stored in a journal in the folder
of the runs as soon as they are made, from which an interrupted command resumes.
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
"""Kinds of rows that every study has: predictions in words, and runs."""
PACKAGES = ("numpy", "torch", "transformers", "trl", "peft")
STUDIES = {"small-llama": "small_llama.study", "pretrained": "pretrained.study", "sql": "sql.study"}
"""Module in this package that defines the STUDY of each command."""


@dataclass(frozen=True)
class StudyOptions:
    """Options of `dph experiment NAME`, as its help describes them; `model` is empty if it has none."""

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
    """Rows of a kind, made by the function "module:function" from the arguments given for each name."""

    kind: str
    function: str
    jobs: Mapping[str, tuple[Any, ...]]
    side_by_side: bool = False
    """True if several workers may make the rows."""
    anew: bool = False
    """True if existing rows are made again."""


class RunStore:
    """Rows in a journal, by kind and by the name of the job that made them.

    A computation before a run (a prediction, an expected-gradient run) has its own row, written before the
    run starts. `bases` is the folder of the initial models. Without an identity the store is read-only.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any] | None) -> None:
        self.bases = folder / "bases"
        self.journal = Journal(folder / "journal.jsonl", identity)

    def write(self, kind: str, name: str, row: Any) -> None:
        """Write a row to the disk before returning; it replaces a row of the same name."""
        self.journal[_key(kind, name)] = row

    def read(self, kind: str, row_type: Any, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Read rows of a kind by name (default: all); lists become tuples and rows become `row_type`."""
        if names is None:
            names = [key.partition("/")[2] for key in self.journal if key.startswith(_key(kind, ""))]
        keys = {name: _key(kind, name) for name in names}
        return {name: _as(row_type, self.journal[key]) for name, key in keys.items() if key in self.journal}

    def missing(self, kind: str, names: Iterable[str]) -> list[str]:
        """Names without a row of this kind, in order and without repeats."""
        return [name for name in dict.fromkeys(names) if _key(kind, name) not in self.journal]

    def fill(self, steps: Iterable[Step], workers: int = 1, progress: Progress = silent) -> None:
        """Make the missing rows of steps; `progress` is called with (kind, done, jobs)."""
        for step in steps:
            # Several kinds of rows share one import of their workers' modules.
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
        """Write the rows, except those of one kind, as compressed lines that `adopt` reads.

        Numbers are rounded to six digits, except in a row's run, whose id is a hash of its content.
        """
        rows = [(*key.split("/", 1), row) for key, row in self.journal.items()]
        lines = [
            json.dumps({"what": kind, "name": name, "row": _rounded(row, 6)}, separators=(",", ":"))
            for kind, name, row in rows
            if kind != without
        ]
        write_bytes(path, lzma.compress("\n".join(lines).encode(), preset=9))

    def adopt(self, packed: Path) -> None:
        """Add the rows of a file written by `pack`, except for existing rows."""
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
    """Printed output of a command; `numbers` computes config and results only if a record is written."""

    tables: Sequence[Table]
    sentences: Sequence[str]
    numbers: Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]]]


@dataclass(frozen=True)
class Study:
    """Experiments that share settings, a store and a report, declared as the module describes."""

    name: str
    """Name of the command, and of the folder of rows."""
    kind: str
    """Kind of the record."""
    questions: Mapping[str, str]
    """The question that each experiment answers, by name."""
    declared: Callable[[], Sequence[Any]]
    quick: Callable[[], Sequence[Any]]
    steps: Callable[[RunStore, Sequence[Any], StudyOptions], Iterator[Step]]
    report: Callable[[RunStore, Sequence[Any], StudyOptions], StudyReport]
    identity: Callable[[StudyOptions], Mapping[str, Any]]
    """Settings on which all rows depend."""
    claims: Sequence[Claim] = ()
    left_out: str | None = None
    """Kind of rows that --pack omits because they are cheap to recompute."""

    def runs(self, only: str | None = None, seeds: int | None = None) -> list[Any]:
        """Runs of all experiments or of one, with at most this many seeds; ValueError for an unknown name."""
        if only is not None:
            choice("only", only, self.questions)
        runs = [run for run in self.declared() if only in (None, run.experiment)]
        first = {None, *sorted({run.seed for run in runs if run.seed is not None})[:seeds]}
        return [run for run in runs if run.seed in first]


def run_study(study: Study, options: StudyOptions, progress: Progress = silent) -> StudyReport:
    """Run the declared runs that are not finished, unless `options.listed`, and report the results."""
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
    """Import the study of that name, a key of STUDIES."""
    study: Study = import_module(f"{__package__}.{STUDIES[name]}").STUDY
    return study


def list_studies(folder: Path) -> Table:
    """Table of all declared experiments, with the number of their runs finished in the folder."""
    rows = []
    for study in map(study_named, STUDIES):
        store = RunStore(folder / study.name, None)
        rows += [(study.name, name, done) for name, _, done in _done(study, study.declared(), store)]
    return Table.from_rows(("study", "experiment", "finished runs"), rows)


def _done(study: Study, runs: Sequence[Any], store: RunStore) -> list[tuple[str, str, str]]:
    """For each experiment of these runs: its name, its question, and how many of its runs are finished."""
    missing = {*store.missing(RUN, [run.id for run in runs])}
    declared = Counter(run.experiment for run in runs)
    done = Counter(run.experiment for run in runs if run.id not in missing)
    return [(name, study.questions.get(name, ""), f"{done[name]} of {n}") for name, n in declared.items()]


def _key(kind: str, name: str) -> str:
    return f"{kind}/{name}"


def _quietly(function: str, job: tuple[Any, ...]) -> Any:
    """Call a function without transformers' progress bars and notes: runs are short and many."""
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
