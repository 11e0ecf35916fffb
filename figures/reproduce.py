"""Reproduction in stages, parallel where possible and resumed after an interruption, and its page."""

import hashlib
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

from dph_theory.support.files import write_bytes, write_json, write_text
from dph_theory.support.journal import Journal
from dph_theory.support.processes import run_jobs
from dph_theory.support.progress import Progress, StageProgress, silent
from dph_theory.support.record import as_json, record, versions
from toy_lm.experiments import ToyExperiment

from . import files, frames
from .catalogue import NAMES, figure
from .report import StageEnd, drawn_figures, page
from .style import Sheet
from .venues import PHONE, SCREEN

_ROOT, _JOURNAL = Path(__file__).parents[1], "finished.jsonl"
_LIBRARIES = ("numpy", "scipy", "sympy", "torch", "matplotlib")
TRAINERS = ("transformers", "trl", "peft")  # Packages that train a Llama.
BY, DIGITS = ("dph_theory", "toy_lm"), 10  # Packages that run experiments; stored significant digits.


@dataclass(frozen=True)
class Plan:
    """Size and seed of the run, and the folder of the page, which contains a folder of results."""

    seed: int = 0
    quick: bool = False
    folder: Path = Path("report")

    @property
    def results(self) -> Path:
        """Folder of the results."""
        return self.folder / "results"

    @property
    def records(self) -> frames.Records:
        """Records of this run, completed by the committed ones for stages that it does not run."""
        return frames.Records(self.results, self.quick, frames.NUMBERS)

    def digest(self, packages: Sequence[str]) -> str:
        """Hash of the seed, the size of the run, the versions, and the sources of these packages."""
        conditions = json.dumps([self.seed, self.quick, environment()], sort_keys=True)
        sha256 = hashlib.sha256(conditions.encode())
        for package in packages:
            for path in sorted((_ROOT / package).rglob("*.py")):
                sha256.update(str(path.relative_to(_ROOT)).encode() + path.read_bytes())
        return sha256.hexdigest()


def environment() -> dict[str, str]:
    """The machine and the relevant versions."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return {"machine": machine, **versions(*_LIBRARIES)}


class UnexpectedError(Exception):
    """Raised by a stage that finished with an unexpected finding."""


@dataclass(frozen=True)
class Stage:
    """A part of the run: `make` writes `files` to the plan's results, and returns its finding in one line.

    An `alone` stage uses the whole machine by its own processes; the others run in parallel. `needs` are the
    stages whose files it reads, `packages` those whose sources its result depends on.
    """

    name: str
    make: Callable[[Plan, StageProgress], str]
    files: tuple[str, ...]
    alone: bool = False
    needs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ("dph_theory",)


def stages() -> list[Stage]:
    """All stages in the order in which they run."""
    trained = [_experiment_stage(name) for name in frames.TOY]
    drawn = [_figure_stage(name) for name in NAMES]
    return [
        Stage("verify", verdicts, ("verdicts.json",), alone=True),
        Stage("laws", llama_runs, ("laws_quick.json",), alone=True, packages=("dph_theory", "full_scale")),
        *sorted(trained, key=lambda stage: not stage.alone),
        Stage("audit", audit, ("what_your_kl_does.json",)),
        *sorted(drawn, key=lambda stage: bool(stage.needs)),
    ]


def _experiment_stage(name: str) -> Stage:
    written = tuple(f"{frames.stored_name(name, quick)}.json" for quick in (False, True))
    alone = ToyExperiment(name).is_resumable
    return Stage(f"toy.{name}", partial(experiment, name), written, alone, packages=BY)


def _figure_stage(name: str) -> Stage:
    try:
        stage_of = {toy: f"toy.{toy}" for toy in frames.TOY} | {"audit": "audit"}
        needs = tuple(stage_of[record] for record in figure(name).needs if record in stage_of)
    except Exception:  # The stage meets the same error, and reports it.
        needs = ()
    make, packages = partial(drawing, name), (*BY, "figures")
    return Stage(f"figure.{name}", make, _drawings(name), needs=needs, packages=packages)


def _drawings(name: str) -> tuple[str, str]:
    return f"{name}.svg", f"{name}.narrow.svg"


def verdicts(plan: Plan, progress: StageProgress) -> str:
    """Verify every theorem; UnexpectedError names those with an unexpected status or negative control."""
    from dph_theory.theorems import THEOREMS
    from dph_theory.verification.reports import settings_for
    from dph_theory.verification.run import verify

    settings = settings_for(seed=plan.seed, quick=plan.quick)
    reports = verify(list(THEOREMS.values()), settings, on_report=_counting(progress, len(THEOREMS)))
    strange = [report.theorem for report in reports if not report.as_expected]
    fallen = sum(report.fallen for report in reports)
    words = f"{len(reports)} theorems and {fallen} false variants, {len(strange)} not as expected"
    results = {"reports": [report.as_json() for report in reports]}
    contents = {"config": as_json(settings), "results": results, "findings": [words]}
    _store(plan, "verdicts", "report.verdicts", **contents, packages=("numpy", "scipy"))
    if strange:
        raise UnexpectedError(f"{words}: {', '.join(strange)}")
    return words


def audit(plan: Plan, progress: StageProgress) -> str:
    """Audit the catalogue of published KL terms."""
    from dph_theory.audit.catalogue import audit_catalogue, form_of
    from dph_theory.audit.published import CATALOGUE

    reports = audit_catalogue(seed=plan.seed, on_report=_counting(progress, len(CATALOGUE)))
    rows = []
    for report in reports:
        form = form_of(report)
        rows.append(report.to_dict() | {"source": form.source, "formula": form.formula})
    words = f"{len(rows)} forms audited"
    contents: dict[str, Any] = {"config": {}, "results": {"rows": as_json(rows, 8)}, "findings": [words]}
    _store(plan, *frames.KINDS["audit"], **contents, packages=("numpy", "torch"))
    return words


def _store(plan: Plan, name: str, kind: str, **contents: Any) -> None:
    write_json(plan.results / f"{name}.json", record(kind, seed=plan.seed, **contents))


def _counting(progress: StageProgress, total: int) -> Callable[[Any], None]:
    done = itertools.count(1)
    return lambda report: progress(next(done), total)


def llama_runs(plan: Plan, progress: StageProgress) -> str:
    """Test the predicted policies by `dph experiment small-llama --quick`, if TRL is installed."""
    missing = [name for name in TRAINERS if find_spec(name) is None]
    if missing:
        return f"left out: {', '.join(missing)} not installed (extra full)"
    runs, stored = plan.results / "laws_quick_runs", plan.results / "laws_quick.json"
    options = ["--quick", "--folder", str(runs), "--json", str(stored)]
    command = [sys.executable, "-m", "dph_cli", "experiment", "small-llama", *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        words = f"dph experiment small-llama --quick ended with {ended.returncode}"
        raise UnexpectedError(f"{words}: {ended.stderr.strip()[-500:]}")
    shutil.rmtree(runs, ignore_errors=True)
    progress(1, 1)
    return " ".join(frames.load("laws_quick", "laws", plan.results)["findings"])


def experiment(name: str, plan: Plan, progress: StageProgress) -> str:
    """Run and store a toy experiment; its own stored runs, if any, survive an interruption."""
    chosen, runs = ToyExperiment(name), plan.results / f"{name}_runs"
    config = chosen.configuration.quick() if plan.quick else chosen.configuration()
    options = {"folder": runs / plan.digest(BY)[:16]} if chosen.is_resumable else {}
    finished = chosen.run(config, seed=plan.seed, progress=lambda _, *moved: progress(*moved), **options)
    write_json(plan.results / f"{frames.stored_name(name, plan.quick)}.json", as_json(finished, DIGITS))
    shutil.rmtree(runs, ignore_errors=True)
    return f"findings: {len(finished['findings'])}"


def drawing(name: str, plan: Plan, progress: StageProgress) -> str:
    """Draw a figure from this run's records, and check its title against its numbers."""
    drawn = figure(name)
    numbers = drawn.numbers(plan.records)
    # The page shows the finding beside the drawing, and a reduced run may contradict the title.
    for file, venue in zip(_drawings(name), (SCREEN, PHONE), strict=True):
        picture = drawn.drawing(numbers, Sheet(venue, title="panels"))
        write_bytes(plan.results / file, files.rendered(picture, "svg"))
    if not plan.quick and not drawn.claim(numbers):
        raise UnexpectedError(f"its numbers contradict its title: {drawn.title}")
    return drawn.title


def reproduce(
    plan: Plan,
    chosen: Sequence[Stage] | None = None,
    *,
    fresh: bool = False,
    progress: Progress = silent,
    ended: Callable[[StageEnd], None] = lambda outcome: None,
) -> list[StageEnd]:
    """Run the stages, and write the page of their results as index.html in the plan's folder.

    A failed stage is an outcome, and the others go on. Stages that an interrupted or failed run finished are
    reused if seed, size, versions and the sources they depend on are unchanged, unless `fresh`. Each stage
    reports its `progress`, from 0 of 1 at its start, and its outcome through `ended`.
    """
    chosen = stages() if chosen is None else chosen
    if fresh:
        shutil.rmtree(plan.results, ignore_errors=True)
    plan.results.mkdir(parents=True, exist_ok=True)
    journal = Journal(plan.results / _JOURNAL, {"kind": "figures.reproduce"})
    outcomes: dict[str, StageEnd] = {}
    # Figures that need experiments come after figures that need none, so a stage follows its needs.
    for (alone, _), group in groupby(chosen, key=lambda stage: (stage.alone, bool(stage.needs))):
        todo = []
        for stage in group:
            end = _blocked(stage, outcomes) or _finished(journal, stage, plan)
            if end is None:
                todo.append(stage)
            else:
                outcomes[stage.name] = end
                ended(end)
        for stage, outcome in _ends(todo, plan, progress, alone):
            outcomes[stage.name] = outcome
            journal[stage.name] = {"digest": plan.digest(stage.packages), **as_json(outcome)}
            ended(outcome)
    ends = [outcomes[stage.name] for stage in chosen]
    write_text(plan.folder / "index.html", _page(plan, ends))
    if not any(outcome.failed for outcome in ends):
        journal.path.unlink()  # The next run starts from scratch.
    return ends


def _page(plan: Plan, outcomes: Sequence[StageEnd]) -> str:
    drawn = {name: [plan.results / file for file in _drawings(name)] for name in NAMES}
    svg = {
        name: (wide.read_bytes(), narrow.read_bytes())
        for name, (wide, narrow) in drawn.items()
        if narrow.is_file()
    }
    paths = {name: plan.results / f"{frames.stored_name(name, plan.quick)}.json" for name in frames.TOY}
    paths["small Llama, a quick run"] = plan.results / "laws_quick.json"
    paths["verdicts"] = plan.results / "verdicts.json"
    records = {name: json.loads(path.read_text()) for name, path in paths.items() if path.is_file()}
    verified = records.pop("verdicts", None)
    findings = {name: record["findings"] for name, record in records.items()}
    facts = {"run": "quick" if plan.quick else "full", "seed": plan.seed, **environment()}
    return page(verified, drawn_figures(plan.records, svg), findings, outcomes, facts)


def _blocked(stage: Stage, ended: Mapping[str, StageEnd]) -> StageEnd | None:
    missing = [name for name in stage.needs if name in ended and ended[name].failed]
    words = f"it needs {', '.join(missing)}, which failed"
    return StageEnd(stage.name, "failed", 0.0, words) if missing else None


def _ends(
    todo: Sequence[Stage], plan: Plan, progress: Progress, alone: bool
) -> Iterable[tuple[Stage, StageEnd]]:
    """Run the stages, in this process if they run alone, else in parallel processes."""
    for stage in todo:
        progress(stage.name, 0, 1)
        if alone:
            yield stage, attempt(stage, plan, partial(progress, stage.name))
    if not alone:
        yield from run_jobs(partial(attempt, plan=plan), todo, one_torch_thread=True, on_death=_failed)


def attempt(stage: Stage, plan: Plan, progress: StageProgress = lambda done, total: None) -> StageEnd:
    """Run one stage from scratch; an error becomes its outcome."""
    for name in stage.files:
        (plan.results / name).unlink(missing_ok=True)
    start = time.perf_counter()
    try:
        words = stage.make(plan, progress)
    except Exception as error:
        return _failed(stage, error, time.perf_counter() - start)
    return StageEnd(stage.name, "done", time.perf_counter() - start, words)


def _failed(stage: Stage, error: BaseException, seconds: float = 0.0) -> StageEnd:
    surprise = isinstance(error, UnexpectedError)
    words = str(error) if surprise else f"{type(error).__name__}: {error}"
    trace = "" if surprise else "".join(traceback.format_exception(error))
    return StageEnd(stage.name, "failed", seconds, words, trace)


def _finished(journal: Journal, stage: Stage, plan: Plan) -> StageEnd | None:
    end = journal.get(stage.name, {})
    if end.pop("digest", None) != plan.digest(stage.packages) or end["state"] == "failed":
        return None
    return StageEnd(**end | {"state": "reused"})
