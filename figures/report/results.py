"""What the report is made from: how each result of a reproduction is computed, under which name it is
kept, and the machine and versions that all depend on.
"""

import hashlib
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dph_theory.support.progress import StageProgress
from dph_theory.support.record import record
from dph_theory.verification.settings import INSTANCES, QUICK_INSTANCES, Settings
from toy_lm.experiments import EXPERIMENTS

from .. import files, records
from ..catalogue import figure
from .words import count

_ROOT = Path(__file__).parents[2]
_LIBRARIES = ("dph", "numpy", "scipy", "sympy", "python-flint", "torch", "matplotlib", "latex2mathml")


def environment() -> dict[str, str]:
    """The machine and the versions that count."""
    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{name: _version(name) for name in _LIBRARIES},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def digest(packages: Sequence[str], seed: int, quick: bool) -> str:
    """Changes with the seed, the size of the run, the environment, and the sources of these packages."""
    found = hashlib.sha256(json.dumps([seed, quick, environment()], sort_keys=True).encode())
    for package in packages:
        for path in sorted((_ROOT / package).rglob("*.py")):
            found.update(str(path.relative_to(_ROOT)).encode() + path.read_bytes())
    return found.hexdigest()


VERDICTS, AUDIT, LAWS = "verdicts", "audit", "laws_quick"
EXPERIMENT_PACKAGES = ("dph_theory", "toy_lm")
"""The packages that the experiments are made by."""
TRAINERS = ("transformers", "trl", "peft")
"""What a Llama is trained with."""


@dataclass(frozen=True)
class Plan:
    """What is run, and the folder of the page; the results lie in a folder of their own inside it."""

    seed: int = 0
    quick: bool = False
    folder: Path = Path("report")

    @property
    def results(self) -> Path:
        """The folder of the results."""
        return self.folder / "results"

    def file(self, name: str) -> str:
        """The name, without its ending, of the file that the record of that name is in."""
        return records.stored_name(name, self.quick) if name in EXPERIMENTS else name

    def digest(self, packages: Sequence[str]) -> str:
        """Changes with all that a result made by these packages depends on."""
        return digest(packages, self.seed, self.quick)


class UnexpectedError(Exception):
    """A stage ran to its end, and found what should not be."""


def verdicts(plan: Plan, progress: StageProgress) -> str:
    """Verify every theorem; UnexpectedError names those whose verdict or false neighbours surprise."""
    from dph_theory.theorems import THEOREMS
    from dph_theory.verification.run import verify

    settings = Settings(
        instances=QUICK_INSTANCES if plan.quick else INSTANCES, seed=plan.seed, quick=plan.quick
    )
    reports = verify(list(THEOREMS.values()), settings, on_report=_counting(progress, len(THEOREMS)))
    strange = [report.theorem for report in reports if not report.as_expected]
    neighbours = sum(len(report.false_neighbours) for report in reports)
    words = f"{len(reports)} theorems and {neighbours} false neighbours, {len(strange)} not as expected"
    made = record(
        f"report.{VERDICTS}",
        seed=plan.seed,
        config={"checks": settings.checks, "instances": settings.instances, "quick": plan.quick},
        results={"reports": [report.as_json() for report in reports]},
        findings=[words],
        packages=("numpy", "scipy", "sympy", "python-flint"),
    )
    records.save(VERDICTS, made, plan.results)
    if strange:
        raise UnexpectedError(f"{words}: {', '.join(strange)}")
    return words


def audit(plan: Plan, progress: StageProgress) -> str:
    """Audit the catalogue of KL terms in circulation."""
    from dph_theory.audit.catalogue import audit_catalogue
    from dph_theory.methods.estimators import CATALOGUE

    reports = audit_catalogue(seed=plan.seed, on_report=_counting(progress, len(CATALOGUE)))
    lines = [_audit_line(report) for report in reports]
    failed = [f"{line['form']} on {line['samples']} samples" for line in lines if line["failed"]]
    words = f"{len(lines)} forms audited, {len(failed)} could not be evaluated"
    made = record(
        f"report.{AUDIT}",
        seed=plan.seed,
        config={},
        results={"forms": lines},
        findings=[words],
        packages=("numpy", "torch"),
    )
    records.save(AUDIT, made, plan.results)
    if failed:
        raise UnexpectedError(f"{words}: {', '.join(failed)}")
    return words


def _counting(progress: StageProgress, total: int) -> Callable[[Any], None]:
    """Tells at every report how many there are."""
    done = itertools.count(1)
    return lambda report: progress(next(done), total)


def _audit_line(report: Any) -> dict[str, Any]:
    from dph_theory.audit import report as words
    from dph_theory.audit.catalogue import form_of

    form = form_of(report)
    return {
        "form": form.name,
        "source": form.source,
        "formula": form.formula,
        "samples": form.samples.replace("_", " "),
        "value": words.match_words(report.value),
        "gradient": words.both_words(report.gradient, report.sequence_gradient),
        "minimiser": words.minimiser_words(report),
        "variance": words.variance_words(report),
        "dead_zones": words.dead_zone_words(report),
        "verdict": report.verdict,
        "failed": report.gradient.name == "failed",
    }


def laws(plan: Plan, progress: StageProgress) -> str:
    """Hold a small Llama under TRL to the laws of training by `dph laws --quick`, where TRL is installed."""
    missing = [name for name in TRAINERS if find_spec(name) is None]
    if missing:
        return f"left out: {', '.join(missing)} not installed (extra full)"
    kept = plan.results / f"{LAWS}_runs"
    command = [sys.executable, "-m", "dph_cli", "laws", "--quick", "--folder", str(kept)]
    ended = subprocess.run(
        [*command, "--json", str(plan.results / f"{LAWS}.json")], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise UnexpectedError(
            f"dph laws --quick ended with {ended.returncode}: {ended.stderr.strip()[-500:]}"
        )
    shutil.rmtree(kept, ignore_errors=True)
    found = records.load(LAWS, "laws", plan.results)["findings"]
    progress(1, 1)
    return " ".join(found)


def experiment(name: str, plan: Plan, progress: StageProgress) -> str:
    """Run one of the toy experiments; its own finished runs, if it keeps them, outlive an interruption."""
    kept = plan.results / f"{name}_runs"
    made = files.run_experiment(
        name,
        seed=plan.seed,
        quick=plan.quick,
        folder=plan.results,
        progress=lambda stage, done, total: progress(done, total),
        resume=kept / plan.digest(EXPERIMENT_PACKAGES)[:16],
    )
    shutil.rmtree(kept, ignore_errors=True)
    return count(len(made["findings"]), "finding")


def drawing(name: str, plan: Plan, progress: StageProgress) -> str:
    """Compute a figure's numbers from this run's experiments, and draw it."""
    drawn = figure(name)
    made = drawn.numbers(seed=plan.seed, quick=plan.quick, folder=plan.results)
    records.save(name, made, plan.results)
    files.save_drawing(name, drawn.drawing(made), ("svg",), plan.results)
    return count(len(drawn.numbers_to_quote(made).rows), "row")
