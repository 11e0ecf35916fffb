"""A reproduction: stages, side by side where they can be, taken up again after an interruption; the page."""

import json
import shutil
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from dph_theory.support.files import write_json, write_text
from dph_theory.support.processes import run_jobs
from dph_theory.support.progress import StageProgress
from toy_lm.experiments import EXPERIMENTS, RESUMABLE

from .catalogue import NAMES, figure
from .records import stored_name
from .report import page, results
from .report.contents import Contents, StageEnd
from .report.results import Plan

_JOURNAL = "finished.json"


@dataclass(frozen=True)
class Stage:
    """A part of the run: `make` leaves `files` in the plan's results, and says in a line what it found.

    One that is `alone` fills the machine by processes of its own; the others run side by side. `needs` are
    the stages whose files it reads, `packages` those whose sources its result depends on.
    """

    name: str
    make: Callable[[Plan, StageProgress], str]
    files: tuple[str, ...]
    alone: bool = False
    needs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ("dph_theory",)


class Watch:
    """Told how a run goes; does nothing by itself."""

    def started(self, stage: str) -> None:
        """A stage begins."""

    def progressed(self, stage: str, done: int, total: int) -> None:
        """A stage has done so much of what it has to do."""

    def ended(self, outcome: StageEnd) -> None:
        """A stage ended."""


def stages() -> list[Stage]:
    """All stages in the order in which they run."""
    drawn = [_figure_stage(name) for name in NAMES]
    trained = [_experiment_stage(name) for name in EXPERIMENTS]
    return [
        Stage("verify", results.verdicts, (f"{results.VERDICTS}.json",), alone=True),
        Stage("audit", results.audit, (f"{results.AUDIT}.json",), alone=True),
        Stage(
            "laws", results.laws, (f"{results.LAWS}.json",), alone=True, packages=("dph_theory", "full_scale")
        ),
        *(stage for stage in trained if stage.alone),
        *(stage for stage in trained if not stage.alone),
        *(stage for stage in drawn if not stage.needs),
        *(stage for stage in drawn if stage.needs),
    ]


def _experiment_stage(name: str) -> Stage:
    files = tuple(f"{stored_name(name, quick)}.json" for quick in (False, True))
    make = partial(results.experiment, name)
    return Stage(f"toy.{name}", make, files, alone=name == RESUMABLE, packages=results.EXPERIMENT_PACKAGES)


def _figure_stage(name: str) -> Stage:
    try:
        needs = tuple(f"toy.{needed}" for needed in figure(name).needs if needed in EXPERIMENTS)
    except Exception:  # The stage meets the same error, and tells it.
        needs = ()
    packages = (*results.EXPERIMENT_PACKAGES, "figures")
    make = partial(results.drawing, name)
    files = (f"{name}.json", f"{name}.svg")
    return Stage(f"figure.{name}", make, files, needs=needs, packages=packages)


def reproduce(
    plan: Plan, chosen: Sequence[Stage] | None = None, *, fresh: bool = False, watch: Watch | None = None
) -> list[StageEnd]:
    """Run the stages, and write the page of what they left as index.html in the plan's folder.

    A stage that fails is an outcome, and the others go on. What an interrupted or failed run finished is
    reused if seed, size, versions and the sources it depends on are the same, unless `fresh`.
    """
    chosen, watch = stages() if chosen is None else chosen, watch or Watch()
    if fresh:
        shutil.rmtree(plan.results, ignore_errors=True)
    plan.results.mkdir(parents=True, exist_ok=True)
    journal = StageJournal(plan)
    ended: dict[str, StageEnd] = {}
    # Figures that need experiments come after all those that need none, so a stage follows what it needs.
    for (alone, _), group in groupby(chosen, key=lambda stage: (stage.alone, bool(stage.needs))):
        todo = []
        for stage in group:
            known = _blocked(stage, ended) or journal.finished(stage)
            if known is None:
                todo.append(stage)
            else:
                ended[stage.name] = known
                watch.ended(known)
        for stage, outcome in (_one_by_one if alone else _side_by_side)(todo, plan, watch):
            ended[stage.name] = outcome
            journal.add(stage, outcome)
            watch.ended(outcome)
    outcomes = [ended[stage.name] for stage in chosen]
    write_text(plan.folder / "index.html", page(Contents.load(plan, outcomes)))
    if not any(outcome.failed for outcome in outcomes):
        journal.close()
    return outcomes


def _blocked(stage: Stage, ended: Mapping[str, StageEnd]) -> StageEnd | None:
    """The failure of a stage that needs one that failed."""
    missing = [name for name in stage.needs if name in ended and ended[name].failed]
    words = f"it needs {', '.join(missing)}, which failed"
    return StageEnd(stage.name, "failed", 0.0, words) if missing else None


def _one_by_one(todo: Iterable[Stage], plan: Plan, watch: Watch) -> Iterable[tuple[Stage, StageEnd]]:
    for stage in todo:
        watch.started(stage.name)
        yield stage, attempt(stage, plan, partial(watch.progressed, stage.name))


def _side_by_side(todo: Sequence[Stage], plan: Plan, watch: Watch) -> Iterable[tuple[Stage, StageEnd]]:
    """Each in a process of its own, as many at once as there are cores; an interruption ends them."""
    for stage in todo:
        watch.started(stage.name)
    return run_jobs(partial(attempt, plan=plan), todo, one_torch_thread=True, on_death=_failed)


def attempt(stage: Stage, plan: Plan, progress: StageProgress = lambda done, total: None) -> StageEnd:
    """Make one stage, from nothing; what goes wrong is its outcome."""
    for name in stage.files:
        (plan.results / name).unlink(missing_ok=True)
    start = time.perf_counter()
    try:
        words = stage.make(plan, progress)
    except Exception as error:
        return _failed(stage, error, time.perf_counter() - start)
    return StageEnd(stage.name, "done", time.perf_counter() - start, words)


def _failed(stage: Stage, error: BaseException, seconds: float = 0.0) -> StageEnd:
    surprise = isinstance(error, results.UnexpectedError)
    words = str(error) if surprise else f"{type(error).__name__}: {error}"
    trace = "" if surprise else "".join(traceback.format_exception(error))
    return StageEnd(stage.name, "failed", seconds, words, trace)


class StageJournal:
    """The stages that a run has finished, kept until a run has finished them all."""

    def __init__(self, plan: Plan) -> None:
        """Take up what lies in the plan's results."""
        self._plan = plan
        self._path = plan.results / _JOURNAL
        self._finished: dict[str, Any] = {}
        if self._path.is_file():
            self._finished = json.loads(self._path.read_text(encoding="utf-8"))

    def finished(self, stage: Stage) -> StageEnd | None:
        """How the stage ended, if it did, under the same conditions as now."""
        found = self._finished.get(stage.name)
        if found is None or found["digest"] != self._plan.digest(stage.packages):
            return None
        return StageEnd(stage.name, "reused", found["seconds"], found["words"])

    def add(self, stage: Stage, outcome: StageEnd) -> None:
        """Note a stage that is done."""
        self._finished.pop(stage.name, None)
        if not outcome.failed:
            entry = {"digest": self._plan.digest(stage.packages)}
            self._finished[stage.name] = entry | {"seconds": outcome.seconds, "words": outcome.words}
        write_json(self._path, self._finished)

    def close(self) -> None:
        """Forget all, since all is done: the next run begins anew."""
        self._path.unlink(missing_ok=True)
