"""The record: predictions for every run first, then the runs side by side; nothing finished is lost."""

import json
import lzma
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any, TypeVar

import transformers

from dph_theory.laws import law_divergence
from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_bytes, write_json
from dph_theory.support.processes import run_jobs
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json, from_json, record

from ..evaluation.exact import exact, next_token_tables
from ..storage.journal import Journal
from ..tasks.glass_box.base import build_base
from ..tasks.glass_box.box import box
from .experiments import experiments
from .flow import LostFlow, flow_of, lost_flow, ways_back
from .predictions import LIMITS, laws_of, predictions, targets_of
from .record import (
    CAUSES,
    UNEXPLAINED,
    FinishedRun,
    PredictedLaw,
    RunPoint,
    SampledEnd,
    Tally,
    Twin,
    luck,
    summary,
    tallies,
    twin_in,
    twin_of,
    why_missed,
)
from .runs import Run
from .training import Tables, train
from .twin import LONGEST, SAMPLED, sampled_ends, twin

KIND = "laws"
OF_RANDOM_REWARDS = 200
"""Trainings on samples of a run whose verdicts are a coin: what they move on average is noise alone."""
PACKAGES = ("numpy", "torch", "transformers", "trl", "peft")
Job = TypeVar("Job")


class Kept:
    """Rows in a file that only grows, by what they are and of which job: made once, kept as they are made.

    What comes before a run (a prediction, a twin) is a row of its own, settled before the run is. `bases` is
    the folder of the models that runs start from.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.bases = folder / "bases"
        self.journal = Journal(folder / "journal.jsonl", identity)
        self._rows: dict[tuple[str, str], Any] = {}
        for line in self.journal.entries:
            self._rows |= _rows_of(line)

    def keep(self, what: str, name: str, row: Any) -> None:
        """Write a row down, on the disk before this returns; it replaces one of the same name."""
        value = as_json(row)
        self.journal.append({"what": what, "name": name, "row": value})
        self._rows[what, name] = value

    def read(self, what: str, kind: Any, names: Iterable[str] | None = None) -> dict[str, Any]:
        """The rows of that kind by name: those there are of `names`, or all; a row of several is a tuple."""
        asked = (name for of, name in self._rows if of == what) if names is None else names
        rows = {name: self._rows[what, name] for name in asked if (what, name) in self._rows}
        return {name: _as(kind, row) for name, row in rows.items()}

    def all_rows(self, digits: int) -> dict[tuple[str, str], Any]:
        """Every row, rounded, by what it is and its name."""
        return {of: as_json(row, digits=digits) for of, row in self._rows.items()}

    def lacks(self, what: str, names: Iterable[str]) -> list[str]:
        """The names that have no such row yet, in order, each once."""
        return [name for name in dict.fromkeys(names) if (what, name) not in self._rows]

    def settle(
        self,
        what: str,
        function: Callable[[Job], Any],
        jobs: Mapping[str, Job],
        *,
        workers: int = 1,
        progress: Progress = silent,
    ) -> None:
        """Make the rows that are not there yet, side by side; `progress` gets (what, done, jobs)."""
        missing = {name: jobs[name] for name in self.lacks(what, jobs)}
        names = {id(job): name for name, job in missing.items()}
        made = run_jobs(function, [*missing.values()], workers=workers, one_torch_thread=True)
        for done, (job, row) in enumerate(made, len(jobs) - len(missing) + 1):
            self.keep(what, names[id(job)], row)
            progress(what, done, len(jobs))

    def adopt(self, packed: Path) -> None:
        """Add the rows of a file that `pack` wrote, but for those that are here already."""
        for line in _unpacked(packed):
            for (what, name), row in _rows_of(line).items():
                if (what, name) not in self._rows:
                    self.keep(what, name, row)


def _as(kind: Any, row: Any) -> Any:
    return tuple(from_json(kind, one) for one in row) if isinstance(row, list) else from_json(kind, row)


def _rows_of(line: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """The rows that a line holds, those of journals and packs from before they were named among them."""
    if "what" in line:
        return {(line["what"], line["name"]): line["row"]}
    if "twin" in line:
        return {(TWIN, Run(**_run_of(line["twin"])).id): line["twin"]}
    if "method" in line:
        name = line["method"] if line["seed"] is None else f"{line['method']} {line['seed']}"
        return {(PREDICTION if line["seed"] is None else RUN, name): line}
    if "id" in line:
        return {(PREDICTION, line["id"]): line["predictions"]}
    outcome = line.get("outcome", line)
    name = Run(**_run_of(outcome)).id
    return {(PREDICTION, name): outcome["predictions"], (RUN, name): outcome}


def _run_of(row: Mapping[str, Any]) -> dict[str, Any]:
    clip = row["run"].get("clip")
    return {**row["run"], "clip": None if clip is None else tuple(clip)}


PREDICTION, FLOW, TWIN, RUN = "prediction", "flow", "twin", "run"
"""What is kept of a run: three before it starts."""


def opened(folder: Path) -> Kept:
    """The rows of a folder."""
    return Kept(folder, {"kind": KIND})


def outcomes_in(kept: Kept, runs: Iterable[Run]) -> list[FinishedRun]:
    """Those of the runs that are finished, in order."""
    return [*kept.read(RUN, FinishedRun, [run.id for run in runs]).values()]


def twins_in(kept: Kept) -> dict[str, Twin]:
    """The twins, by the id of the run that stands for all that have it (`twin_of`)."""
    return kept.read(TWIN, Twin)


def run_record(
    runs: Sequence[Run], folder: Path, *, workers: int = 1, progress: Progress = silent
) -> list[FinishedRun]:
    """The outcomes of the runs: those that the folder has, and those it lacks, run now.

    All predictions are in the journal before the first run starts. `progress` is called with (what, done,
    jobs), of the runs last. An interruption loses only the runs that had begun.
    """
    kept = opened(folder)
    named = {run.id: run for run in runs}
    missing = [named[name] for name in kept.lacks(RUN, named)]
    quiet()
    for name in kept.lacks(PREDICTION, [run.id for run in missing]):
        run = named[name]
        kept.keep(PREDICTION, name, predictions(run, box(run.task), base_tables(run, kept.bases)))
    add_flows(kept, missing, workers=workers, progress=progress)
    add_twins(kept, missing, workers=workers, progress=progress)
    twins = twins_in(kept)
    of_coins = [twin for run in missing if not run.informative and (twin := twin_in(twins, run))]
    _sample(kept, of_coins, workers=workers, progress=progress)
    predicted = kept.read(PREDICTION, PredictedLaw)
    jobs = {name: (run, predicted.get(name, ()), kept.bases) for name, run in named.items()}
    kept.settle(RUN, conduct, jobs, workers=workers, progress=progress)
    return outcomes_in(kept, runs)


def add_flows(kept: Kept, runs: Iterable[Run], *, workers: int = 1, progress: Progress = silent) -> None:
    """Work out the flows that runs with lost answers have, and the folder lacks."""
    asked = {of.id: (of, kept.bases) for run in runs if (of := flow_of(run)) is not None}
    kept.settle(FLOW, _flow, asked, workers=workers, progress=progress)


def add_twins(kept: Kept, runs: Iterable[Run], *, workers: int = 1, progress: Progress = silent) -> None:
    """Train the twins that the runs have and the folder lacks."""
    asked = {of.id: (of, kept.bases) for run in runs if (of := twin_of(run)) is not None}
    kept.settle(TWIN, _twin, asked, workers=workers, progress=progress)


def add_samples(
    kept: Kept, outcomes: Sequence[FinishedRun], *, workers: int = 1, progress: Progress = silent
) -> None:
    """Sample trainings for the twins of misses that the first order does not explain."""
    twins = twins_in(kept)
    found = [(outcome, twin_in(twins, outcome.run)) for outcome in outcomes]
    unexplained = [twin for outcome, twin in found if twin and why_missed(outcome, twin) == UNEXPLAINED]
    _sample(kept, unexplained, workers=workers, progress=progress)


def _sample(kept: Kept, twins: Iterable[Twin], *, workers: int, progress: Progress) -> None:
    """Sample trainings for those of the twins that have none."""
    asked = {twin.run.id: twin for twin in twins if not twin.sampled}
    jobs = [(twin.run, kept.bases) for twin in asked.values()]
    made = run_jobs(_samples, jobs, workers=workers, one_torch_thread=True)
    for done, ((run, _), ends) in enumerate(made, 1):
        kept.keep(TWIN, run.id, replace(asked[run.id], sampled=ends))
        progress("samples", done, len(jobs))


def _samples(job: tuple[Run, Path]) -> tuple[SampledEnd, ...]:
    quiet()
    run, bases = job
    return sampled_ends(run, bases, SAMPLED if run.informative else OF_RANDOM_REWARDS)


def _twin(job: tuple[Run, Path]) -> Twin:
    quiet()
    run, bases = job
    return twin(run, bases, spreads=run.steps <= LONGEST[run.optimiser])


def _flow(job: tuple[Run, Path]) -> LostFlow:
    quiet()
    return lost_flow(*job)


def conduct(job: tuple[Run, tuple[PredictedLaw, ...], Path]) -> FinishedRun:
    """Train, measure exactly, hold against the laws. In a process of its own, or here."""
    run, predicted, bases = job
    quiet()
    begun = time.monotonic()
    task = box(run.task)
    base = base_tables(run, bases)
    laws = laws_of(run, task, base)
    course = train(run, task, bases)
    distance = partial(law_divergence, end=task.end)
    last = task.of_rows(course[-1].tables)
    points = [
        RunPoint(
            measured.step,
            exact(task, measured.tables, base),
            {name: float(distance(task.of_rows(measured.tables), law).mean()) for name, law in laws.items()},
        )
        for measured in course
    ]
    rows = task.of_rows(base)
    ends = {name: limit(rows, task.valid, end=task.end) for name, limit in LIMITS.items()}
    ends |= targets_of(run, task, base)
    limits = {name: float(distance(end, last).mean()) for name, end in ends.items()}
    return FinishedRun(run, predicted, tuple(points), limits, time.monotonic() - begun)


def store(outcomes: Sequence[FinishedRun], kept: Kept, path: Path) -> dict[str, Any]:
    """Write the compact record that figures read: what `summary` and `ways_back` say it holds."""
    twins = twins_in(kept)
    results = {**summary(outcomes, twins), **ways_back(outcomes, kept.read(FLOW, LostFlow))}
    config = {"experiments": sorted({outcome.run.experiment for outcome in outcomes})}
    said = findings(outcomes, twins)
    found = record(KIND, seed=0, config=config, results=results, findings=said, packages=PACKAGES)
    write_json(path, found)
    return found


def pack(outcomes: Sequence[FinishedRun], kept: Kept, path: Path) -> None:
    """Write the finished runs with all that was measured, flows and twins, compressed, a line each.

    Measures have six digits; a run is stored as it is, since its id is its content.
    """
    values: dict[tuple[str, str], Any] = {(RUN, outcome.run.id): outcome for outcome in outcomes}
    values |= {(FLOW, name): row for name, row in kept.read(FLOW, LostFlow).items()}
    values |= {(TWIN, name): row for name, row in twins_in(kept).items()}
    write_packed(path, {of: _rounded(row) for of, row in values.items()})


def write_packed(path: Path, rows: Mapping[tuple[str, str], Any]) -> None:
    """Write JSON-ready rows, by what they are and their name, compressed, as `Kept.adopt` reads them."""
    lines = [
        json.dumps({"what": what, "name": name, "row": row}, separators=(",", ":"))
        for (what, name), row in rows.items()
    ]
    write_bytes(path, lzma.compress("\n".join(lines).encode(), preset=9))


def _rounded(row: FinishedRun | LostFlow | Twin) -> dict[str, Any]:
    found: dict[str, Any] = as_json(row, digits=6)
    return found | ({} if isinstance(row, LostFlow) else {"run": as_json(row.run)})


def _unpacked(path: Path) -> Iterator[Any]:
    try:
        lines = [json.loads(line) for line in lzma.decompress(path.read_bytes()).splitlines()]
    except (lzma.LZMAError, ValueError) as error:
        raise argument_error("from", str(path), f"a file that `dph laws --pack` wrote ({error})") from error
    yield from lines


def to_do(runs: Sequence[Run], outcomes: Sequence[FinishedRun]) -> list[str]:
    """How many of the runs of each experiment are done, and what it asks."""
    asked, done = (Counter(run.experiment for run in some) for some in (runs, [o.run for o in outcomes]))
    questions = {name: experiments()[name].question if name in experiments() else "" for name in asked}
    return [
        f"{name}: {done[name]} of {asked[name]} runs done. {question}" for name, question in questions.items()
    ]


def findings(outcomes: Sequence[FinishedRun], twins: Mapping[str, Twin] = MappingProxyType({})) -> list[str]:
    """How many runs of each experiment that is meant to reach its laws held, and why the others did not."""
    return [
        f"{tally.experiment}: {tally.held} of {tally.judged} runs held to their law{_causes(tally)}; by the "
        f"nearest law and the validity alone {tally.held_but_for_answers}."
        for tally in tallies(outcomes, twins)
        if tally.judged
    ] + [*_near_their_twins(outcomes, twins), *_of_random_rewards(outcomes, twins)]


def _near_their_twins(outcomes: Sequence[FinishedRun], twins: Mapping[str, Twin]) -> list[str]:
    """Of experiments without a law: how many runs lie where luck is predicted to put them."""
    found: dict[str, list[dict[str, float]]] = {}
    for outcome in outcomes:
        twin = twin_in(twins, outcome.run)
        if outcome.law is None and twin is not None and (departures := luck(outcome, twin)):
            found.setdefault(outcome.run.experiment, []).append(departures)
    near = "{} of {} in the {}".format
    words = {"validity": "pass rate", "favourite_odds": "log odds of right answers"}
    sentences = []
    for name, runs in found.items():
        counts = [
            near(sum(abs(run[measure]) <= 2 for run in told), len(told), said)
            for measure, said in words.items()
            if (told := [run for run in runs if measure in run])
        ]
        sentences.append(f"{name}: within two predicted deviations of the twin {', '.join(counts)}.")
    return sentences


def _of_random_rewards(outcomes: Sequence[FinishedRun], twins: Mapping[str, Twin]) -> list[str]:
    """How far entropy moved where verdicts are a coin, by task, updates and clip, and how far on samples."""
    groups: dict[tuple[Any, ...], list[FinishedRun]] = {}
    for outcome in outcomes:
        if not outcome.run.informative:
            run = outcome.run
            groups.setdefault((run.experiment, run.task, run.updates, run.clip), []).append(outcome)
    sentences = []
    for (name, task, updates, clip), of in groups.items():
        begun = of[0].course[0].exact.entropy or 0.0
        moved = _mean_and_error([(outcome.last.exact.entropy or 0.0) - begun for outcome in of])
        twin = twin_in(twins, of[0].run)
        sampled = twin and twin.sampled and _mean_and_error([end.entropy - begun for end in twin.sampled])
        sentences.append(
            f"{name}: entropy moved by {moved} on {task}, updates {updates}{f', clip {clip}' if clip else ''}"
            f"{f'; {len(twin.sampled)} trainings on samples: {sampled}' if twin and sampled else ''}."
        )
    return sentences


def _mean_and_error(values: Sequence[float]) -> str:
    return (
        f"{fmean(values):+.4f} +- {stdev(values) / len(values) ** 0.5 if len(values) > 1 else math.inf:.4f}"
    )


def _causes(tally: Tally) -> str:
    causes = [f"{tally.missed_by[cause]} {cause}" for cause in CAUSES if tally.missed_by.get(cause)]
    return f" (missed: {', '.join(causes)})" if causes else ""


def base_tables(run: Run, bases: Path) -> Tables:
    """The next-token tables of a run's base, which is built if need be."""
    task = box(run.task)
    model = transformers.LlamaForCausalLM.from_pretrained(build_base(task, bases))
    return next_token_tables(model, task)


def quiet() -> None:
    """No progress bars and notes of transformers: runs are short and many."""
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
