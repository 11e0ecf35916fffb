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

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from dph_theory.support.errors import choice
from dph_theory.support.files import write_json
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import record
from dph_theory.support.table import Table

from .claims import Claim
from .stored_runs import RunStore, Step

CLAIM, RUN = "claim", "run"
"""The kinds of rows that every study has: its predictions in words, and its runs."""
PACKAGES = ("numpy", "torch", "transformers", "trl", "peft")
STUDIES = {"small-llama": "small_llama.study", "pretrained": "pretrained.study"}
"""By the name of its command the module here whose STUDY it is."""


@dataclass(frozen=True)
class StudyOptions:
    """What a command is to run and to write."""

    folder: Path
    quick: bool = False
    only: str | None = None
    """One experiment."""
    seeds: int | None = None
    """At most so many of each."""
    listed: bool = False
    """Whether to run nothing, and report what is there."""
    packed: Path | None = None
    """Rows to go on from."""
    json_path: Path | None = None
    """Where what figures read is written."""
    pack: Path | None = None
    """Where all rows are."""
    workers: int = 1
    model: str = ""
    """The model of a study that takes one: a folder, a packaged name, a name on the Hub."""
    expected_gradient: bool = False
    """Whether a study that can explain misses is to explain those of finished runs too."""


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
        return [
            run
            for run in self.declared()
            if only in (None, run.experiment) and (None in (run.seed, seeds) or run.seed < seeds)
        ]


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
