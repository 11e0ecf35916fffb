"""The record: predictions for every run first, then the runs side by side; nothing finished is lost."""

import json
import lzma
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any

import transformers

from dph_theory.laws import law_divergence
from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_bytes, write_json
from dph_theory.support.processes import run_jobs
from dph_theory.support.progress import Progress
from dph_theory.support.record import as_json, from_json, record

from ..evaluation.exact import exact, next_token_tables
from ..storage.journal import Journal
from ..tasks.glass_box.base import build_base
from ..tasks.glass_box.box import box
from .flow import ways_back
from .predictions import LIMITS, laws_of, predictions, targets_of
from .promises import promises
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


class RunJournal:
    """The folder of a record: `journal.jsonl`, a line a prediction or an outcome, and the bases built."""

    def __init__(self, folder: Path) -> None:
        self.bases = folder / "bases"
        self.journal = Journal(folder / "journal.jsonl", {"kind": KIND})
        self.predicted: dict[str, tuple[PredictedLaw, ...]] = {}
        self.outcomes: dict[str, FinishedRun] = {}
        self.twins: dict[str, Twin] = {}
        for entry in self.journal.entries:
            if "outcome" in entry:
                outcome = from_json(FinishedRun, entry["outcome"])
                self.outcomes[outcome.run.id] = outcome
            elif "twin" in entry:
                self._keep(from_json(Twin, entry["twin"]))
            else:
                found = tuple(from_json(PredictedLaw, value) for value in entry["predictions"])
                self.predicted[entry["id"]] = found

    def to_do(self, runs: Iterable[Run]) -> list[Run]:
        """The runs without an outcome, in order."""
        return [run for run in runs if run.id not in self.outcomes]

    def done(self, runs: Iterable[Run]) -> list[FinishedRun]:
        """The outcomes of those runs that have one, in order."""
        return [self.outcomes[run.id] for run in runs if run.id in self.outcomes]

    def predict(self, run: Run) -> None:
        """Write down what is predicted of the run, if it is not yet."""
        if run.id not in self.predicted:
            found = predictions(run, box(run.task), base_tables(run, self.bases))
            self.journal.append({"id": run.id, **run.changed, "predictions": as_json(found)})
            self.predicted[run.id] = found

    def without_twin(self, runs: Iterable[Run]) -> list[Run]:
        """The twins that the runs have and the journal lacks, each once."""
        found = {twin.id: twin for run in runs if (twin := twin_of(run)) is not None}
        return [twin for name, twin in found.items() if name not in self.twins]

    def add_twin(self, found: Twin) -> None:
        """Write down where a twin ended."""
        self.journal.append({"twin": as_json(found)})
        self._keep(found)

    def _keep(self, found: Twin) -> None:
        self.twins[found.run.id] = found

    def adopt(self, packed: Path) -> None:
        """Add the finished runs of a file that `pack` wrote, but for those that are here already."""
        for line in _unpacked(packed):
            if "twin" in line:
                if (found := from_json(Twin, line["twin"])).run.id not in self.twins:
                    self.add_twin(found)
                continue
            outcome = from_json(FinishedRun, line)
            if outcome.run.id not in self.outcomes:
                self.finish(outcome)
                self.predicted[outcome.run.id] = outcome.predictions

    def finish(self, outcome: FinishedRun) -> None:
        """Write down what came of a run."""
        self.journal.append({"outcome": as_json(outcome)})
        self.outcomes[outcome.run.id] = outcome


def run_record(
    runs: Sequence[Run], folder: Path, *, workers: int = 1, progress: Progress | None = None
) -> list[FinishedRun]:
    """The outcomes of the runs: those that the folder has, and those it lacks, run now.

    All predictions are in the journal before the first run starts. `progress` is called with ("laws", done,
    runs). An interruption loses only the runs that had begun.
    """
    kept = RunJournal(folder)
    missing = kept.to_do(runs)
    quiet()
    for run in missing:
        kept.predict(run)
    add_twins(kept, missing, workers=workers, progress=progress)
    of_coins = [twin for run in missing if not run.informative and (twin := twin_in(kept.twins, run))]
    _sample(kept, of_coins, workers=workers, progress=progress)
    jobs = [(run, kept.predicted[run.id], kept.bases) for run in missing]
    done = len(runs) - len(missing)
    for _, outcome in run_jobs(conduct, jobs, workers=workers, one_torch_thread=True):
        kept.finish(outcome)
        done += 1
        if progress is not None:
            progress("laws", done, len(runs))
    return kept.done(runs)


def add_twins(
    kept: RunJournal, runs: Iterable[Run], *, workers: int = 1, progress: Progress | None = None
) -> None:
    """Train the twins that the runs have and the journal lacks; `progress` with ("twins", done, twins)."""
    missing = kept.without_twin(runs)
    jobs = [(run, kept.bases) for run in missing]
    for done, (_, found) in enumerate(run_jobs(_twin, jobs, workers=workers, one_torch_thread=True), 1):
        kept.add_twin(found)
        if progress is not None:
            progress("twins", done, len(missing))


def add_samples(
    kept: RunJournal, outcomes: Sequence[FinishedRun], *, workers: int = 1, progress: Progress | None = None
) -> None:
    """Sample trainings for the twins of misses that the first order does not explain.

    `progress` is called with ("samples", done, twins).
    """
    found = [(outcome, twin_in(kept.twins, outcome.run)) for outcome in outcomes]
    unexplained = [twin for outcome, twin in found if twin and why_missed(outcome, twin) == UNEXPLAINED]
    _sample(kept, unexplained, workers=workers, progress=progress)


def _sample(kept: RunJournal, twins: Iterable[Twin], *, workers: int, progress: Progress | None) -> None:
    """Sample trainings for those of the twins that have none."""
    asked = {twin.run.id: twin.run for twin in twins if not twin.sampled}
    jobs = [(run, kept.bases) for run in asked.values()]
    for done, ((run, _), ends) in enumerate(
        run_jobs(_samples, jobs, workers=workers, one_torch_thread=True), 1
    ):
        kept.add_twin(replace(kept.twins[run.id], sampled=ends))
        if progress is not None:
            progress("samples", done, len(jobs))


def _samples(job: tuple[Run, Path]) -> tuple[SampledEnd, ...]:
    quiet()
    run, bases = job
    return sampled_ends(run, bases, SAMPLED if run.informative else OF_RANDOM_REWARDS)


def _twin(job: tuple[Run, Path]) -> Twin:
    quiet()
    run, bases = job
    return twin(run, bases, spreads=run.steps <= LONGEST[run.optimiser])


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


def store(outcomes: Sequence[FinishedRun], kept: RunJournal, path: Path) -> dict[str, Any]:
    """Write the compact record that figures read: what `summary`, `ways_back`, `promises` say it holds."""
    quiet()
    config = {"experiments": sorted({outcome.run.experiment for outcome in outcomes})}
    results = {
        **summary(outcomes, kept.twins),
        **ways_back(outcomes, kept.bases),
        "promises": [asdict(promise) for promise in promises(outcomes)],
    }
    found = record(
        KIND,
        seed=0,
        config=config,
        results=results,
        findings=findings(outcomes, kept.twins),
        packages=PACKAGES,
    )
    write_json(path, found)
    return found


def pack(outcomes: Sequence[FinishedRun], twins: Iterable[Twin], path: Path) -> None:
    """Write the finished runs with all that was measured, and twins, compressed, a line each; six digits."""
    values = [*(as_json(o, digits=6) for o in outcomes), *({"twin": as_json(t, digits=6)} for t in twins)]
    lines = [json.dumps(value, separators=(",", ":")) for value in values]
    write_bytes(path, lzma.compress("\n".join(lines).encode(), preset=9))


def _unpacked(path: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in lzma.decompress(path.read_bytes()).splitlines()]
    except (lzma.LZMAError, ValueError) as error:
        raise argument_error("from", str(path), f"a file that `dph laws --pack` wrote ({error})") from error


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
