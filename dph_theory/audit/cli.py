"""`dph audit`: what a loss in a file, or every loss of the catalogue, really descends."""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..support import terminal
from ..support.files import STANDARD_OUTPUT, write_json, write_text
from ..support.user_code import blamed
from . import audit
from .catalogue import CATALOGUE, audit_catalogue, form_of
from .other_audits import audit_advantages, audit_one_metric
from .page import page
from .policy_losses.table import audit_policy_losses
from .report import SAMPLES, AuditReport
from .trainers import audit_trainers
from .verdict import selects_words
from .words import batch_words, dead_zone_words, match_words, minimiser_words, variance_words

_FORM = "FILE.py:function"
_OUTPUT = terminal.OutputFile()


@click.command(name="audit", short_help="Tell what a loss really descends.")
@click.argument("target", required=False, metavar=f"[{_FORM}]")
@click.option("--samples", type=click.Choice(SAMPLES), help="Where the samples come from. [default: policy]")
@click.option("--catalogue", is_flag=True, help="Audit the published forms instead of a file's.")
@click.option("--advantage", is_flag=True, help="It is an advantage: rewards (groups, G) -> advantages.")
@click.option("--group-size", type=click.IntRange(min=2), help="G of an advantage. [default: 8]")
@click.option(
    "--metric", is_flag=True, help="It is a metric: (n, c, k), or (matrix of 0 and 1, k) -> number."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the problems."
)
@click.option("--json", "json_path", type=_OUTPUT, help="Write the findings there.")
@click.option("--page", "page_path", type=_OUTPUT, help="Write the catalogue's page there.")
def audit_command(
    target: str | None,
    samples: str | None,
    catalogue: bool,
    advantage: bool,
    group_size: int | None,
    metric: bool,
    seed: int,
    json_path: Path | None,
    page_path: Path | None,
) -> None:
    """Tell which divergence a loss estimates and which it descends, by exact enumeration.

    With --advantage, what an advantage weighs and maximises; with --metric, whether a metric is unbiased.

    The loss is a torch function of any of log_pi, log_ref, log_old, advantages and mask, tensors of shape
    (batch, tokens), that returns a scalar. Exits 0 if it could be audited, 1 if it could be evaluated on no
    problem, 2 for wrong usage.
    """
    _check_usage(target, catalogue, page_path)
    if samples is not None and (catalogue or advantage or metric):
        raise click.UsageError("--samples goes with a loss of yours alone")
    if (group_size is not None and not advantage) or (metric and (catalogue or advantage)):
        raise click.UsageError("--group-size goes with --advantage, --metric with a function of yours alone")
    try:
        if advantage:
            sys.exit(audit_advantages(load(target) if target else None, group_size, json_path, page_path))
        if metric:
            sys.exit(audit_one_metric(load(target or ""), json_path))
        if catalogue:
            sys.exit(_audit_all(seed, json_path, page_path))
        sys.exit(_audit_one(target or "", samples or "policy", seed, json_path))
    except KeyboardInterrupt:
        terminal.console().print("interrupted: nothing was written")
        sys.exit(terminal.INTERRUPTED)


def _check_usage(target: str | None, catalogue: bool, page_path: Path | None) -> None:
    if catalogue == (target is not None):
        raise click.UsageError(f"give either a loss to audit, as {_FORM}, or --catalogue")
    if page_path is not None and not catalogue:
        raise click.UsageError("--page goes with --catalogue: the page is about the published forms")


def _audit_one(target: str, samples: str, seed: int, json_path: Path | None) -> int:
    loss = load(target)
    with terminal.Bars() as bars:
        bars("auditing", 0, 1, target)
        try:
            report = audit(loss, samples=samples, seed=seed)
        except ValueError as error:
            raise click.UsageError(f"{target}: {error}") from error
        except SystemExit as error:
            raise click.UsageError(f"{target}: the loss called sys.exit({error.code!r})") from error
        bars("auditing", 1, 1, target)
    if json_path is not None:
        write_json(json_path, report.as_json())
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    terminal.say(console, report.verdict)
    console.print(_findings(report))
    return int(_failed(report))


def _audit_all(seed: int, json_path: Path | None, page_path: Path | None) -> int:
    done, total = count(1), len(CATALOGUE)
    with terminal.Bars() as bars:
        bars("auditing", 0, total)
        reports = audit_catalogue(
            seed=seed, on_report=lambda report: bars("auditing", next(done), total, report.loss)
        )
    if json_path is not None:
        write_json(json_path, [_with_form(report) for report in reports])
    if page_path is not None:
        write_text(page_path, page(reports, audit_trainers(seed=seed), audit_policy_losses(seed=seed)))
    console = terminal.console(stderr=STANDARD_OUTPUT in (json_path, page_path))
    for report in reports:
        terminal.say(console, report.verdict)
    console.print(_overview(console, reports))
    failed = sum(_failed(report) for report in reports)
    console.print(f"{len(reports)} forms audited, {failed} could not be evaluated", highlight=False)
    return int(failed == len(reports))


def load(target: str) -> Callable[..., Any]:
    """The callable that FILE.py:function names; UsageError says what is wrong, or what is there instead."""
    file, colon, name = target.rpartition(":")
    if not (file and colon and name):
        raise click.UsageError(
            f"{target}: a file and a function are needed, as {_FORM}; the colon is missing"
        )
    path = Path(file)
    if not path.is_file():
        raise click.UsageError(f"{target}: there is no file {path}")
    module = _imported(path)
    found = getattr(module, name, None)
    if not callable(found):
        own = [key for key, value in vars(module).items() if _is_own(value, module)]
        raise click.UsageError(f"{path} has no callable {name!r}; found in it: {', '.join(own) or 'none'}")
    return found


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_audited_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    # As for a script, what lies beside the file can be imported from it.
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise click.UsageError(f"{path} could not be imported: {blamed(error, path)}") from error
    return module


def _is_own(value: object, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", module.__name__) == module.__name__


def _failed(report: AuditReport) -> bool:
    return "failed" == report.gradient.name == report.sequence_gradient.name


def _with_form(report: AuditReport) -> dict[str, Any]:
    form = form_of(report)
    return {"source": form.source, "formula": form.formula, **report.as_json()}


def _findings(report: AuditReport) -> Table:
    """One row a finding."""
    table = Table("", "found", pad_edge=False)
    extremes = [
        f"{e.dtype}: {what} at x = {', '.join(f'{x:g}' for x in points)}"
        for e in report.extremes
        for what, points in (("nan", e.nan), ("early inf", e.inf))
        if points
    ]
    rows = (
        ("value", match_words(report.value)),
        ("gradient", match_words(report.gradient)),
        ("value on sequences", match_words(report.sequence_value)),
        ("gradient on sequences", match_words(report.sequence_gradient)),
        ("gradient, unequal lengths", match_words(report.unequal_gradient)),
        ("adds up", "-" if report.reduction is None else report.reduction.words),
        ("batch of B", batch_words(report)),
        ("law of training", report.law),
        ("selects as it weakens", selects_words(report)),
        ("minimiser", minimiser_words(report)),
        ("relative variance", variance_words(report)),
        ("extremes, x = log(pi/ref)", "\n".join(extremes) or "finite wherever the value is"),
        ("dead zones", dead_zone_words(report)),
        ("|slope at +5| / |slope at -5|", "-" if report.asymmetry is None else f"{report.asymmetry:.3g}"),
        ("failures", "\n".join(f"{f.problem}: {f.what}" for f in report.failures) or "none"),
    )
    for name, words in rows[-1:] if _failed(report) else rows:
        table.add_row(name, escape(words))
    return table


def _overview(console: Console, reports: Sequence[AuditReport]) -> Table:
    headers = (
        "form",
        "samples",
        "value estimates",
        "gradient descends",
        "selects",
        "minimiser",
        "variance",
        "dead zones",
    )
    rows = [
        (
            report.loss,
            report.samples,
            match_words(report.value),
            match_words(report.gradient),
            report.selects,
            minimiser_words(report),
            variance_words(report),
            dead_zone_words(report),
        )
        for report in reports
    ]
    escaped = [tuple(map(escape, cells)) for cells in rows]
    return terminal.fitted(console, headers, escaped, keep=("form", "gradient descends"))
