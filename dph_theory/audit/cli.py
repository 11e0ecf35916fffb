"""`dph audit loss | advantage | metric | catalogue`: what a function in a file, or a published one, does.

`dph audit trainer` stands in full_scale. Each exits 0 if it could be audited, 1 if it could be evaluated on
no problem, 2 for wrong usage.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from textwrap import wrap
from types import ModuleType
from typing import Any

import click
import torch
from rich.console import Console

from ..methods.estimators import CATALOGUE
from ..support import terminal
from ..support.files import STANDARD_OUTPUT, write_json
from ..support.table import Table
from ..support.user_code import TooLong, blamed, quietly
from .advantage import AdvantageError, AdvantageReport, audit_advantage
from .catalogue import audit_advantages, audit_catalogue, form_of
from .exact import arguments_of
from .loss import audit
from .metric import MetricError, audit_metric
from .report import SAMPLES, AuditReport

_TARGET = "FILE.py:function"
WIDTH = 80
_OUTPUT = terminal.OutputFile()
_target = click.argument("target", metavar=_TARGET)
_seed = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the problems."
)
_json = click.option("--json", "json_path", type=_OUTPUT, help="Write the findings there.")
_limit = click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    help="Seconds that it may take.",
)
_group_size = click.option("--group-size", type=click.IntRange(min=2), help="G, the answers to a prompt.")


@click.command(name="loss", short_help="Tell what a loss really descends.")
@_target
@click.option(
    "--samples",
    type=click.Choice(SAMPLES),
    help="Where samples come from; by default the policy, and an old one beside it if log_old is taken.",
)
@_seed
@_limit
@_json
def loss_command(
    target: str, samples: str | None, seed: int, time_limit: float, json_path: Path | None
) -> None:
    """Tell which divergence a loss estimates and which it descends, by exact enumeration.

    The loss is a torch function of any of log_pi, log_ref, log_old, advantages and mask, tensors of shape
    (batch, tokens), advantages also (batch,), that returns a scalar, or a tuple that begins with one. It
    is given the sampled tokens' log-probabilities alone: a divergence summed over the whole vocabulary, as
    in distillation, cannot be audited, in neither direction.
    """
    loss = load(target)
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    with terminal.Bars() as bars, user_code(console, target, time_limit):
        bars("auditing", 0, 1, target)
        both = ("policy", "old_policy") if "log_old" in arguments_of(loss) else ("policy",)
        reports = [audit(loss, samples=of, seed=seed) for of in ([samples] if samples else both)]
        bars("auditing", 1, 1, target)
    if json_path is not None:
        others = {"off_policy": reports[1].to_dict()} if len(reports) > 1 else {}
        write_json(json_path, {**reports[0].to_dict(), **others})
    first = reports[0]
    say(console, first.verdict, first.rows())
    for report in reports[1:]:
        say(console, report.verdict, [row for row in report.rows() if row not in first.rows()])
    sys.exit(int(all(report.failed for report in reports)))


@click.command(name="advantage", short_help="Tell what an advantage weighs and maximises.")
@_target
@_group_size
@_limit
@_json
def advantage_command(target: str, group_size: int | None, time_limit: float, json_path: Path | None) -> None:
    """Tell what an advantage, rewards (groups, G) -> advantages, weighs and maximises; G is 8 by default."""
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    advantage = load(target)
    with user_code(console, target, time_limit):
        report = audit_advantage(advantage, group_size=group_size or 8)
    if json_path is not None:
        write_json(json_path, report.to_dict())
    say(console, report.verdict, ())
    console.print(_weights(report).rich())


@click.command(name="metric", short_help="Tell whether a Pass@k is one.")
@_target
@_limit
@_json
def metric_command(target: str, time_limit: float, json_path: Path | None) -> None:
    """Tell what a metric, (n, c, k) or (matrix of 0 and 1, k) -> number, estimates, and how far it is off."""
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    metric = load(target)
    with user_code(console, target, time_limit):
        report = audit_metric(metric)
    if json_path is not None:
        write_json(json_path, report.to_dict())
    say(console, report.verdict, report.rows())


@click.command(name="catalogue", short_help="Audit the published losses, or the published advantages.")
@click.option("--advantages", is_flag=True, help="The advantages instead of the losses.")
@_group_size
@_seed
@_json
def catalogue_command(advantages: bool, group_size: int | None, seed: int, json_path: Path | None) -> None:
    """Audit every published KL term.

    With --advantages, every published advantage, at G = 8 or at the group size given.
    """
    if group_size is not None and not advantages:
        raise click.UsageError("--group-size goes with --advantages")
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    with interruptible():
        if advantages:
            _all_advantages(console, group_size or 8, json_path)
        else:
            sys.exit(_all_losses(console, seed, json_path))


def _all_losses(console: Console, seed: int, json_path: Path | None) -> int:
    done, total = count(1), len(CATALOGUE)
    with terminal.Bars() as bars:
        bars("auditing", 0, total)
        reports = audit_catalogue(
            seed=seed, on_report=lambda report: bars("auditing", next(done), total, report.loss)
        )
    if json_path is not None:
        forms = [form_of(report) for report in reports]
        write_json(
            json_path,
            [
                {"source": form.source, "formula": form.formula, **report.to_dict()}
                for form, report in zip(forms, reports, strict=True)
            ],
        )
    for report in reports:
        terminal.say(console, report.verdict)
    console.print(_overview(reports).rich())
    failed = sum(report.failed for report in reports)
    console.print(f"{len(reports)} forms audited, {failed} could not be evaluated", highlight=False)
    return int(failed == len(reports))


def _all_advantages(console: Console, group_size: int, json_path: Path | None) -> None:
    reports = audit_advantages((group_size,))
    if json_path is not None:
        write_json(json_path, [report.to_dict() for report in reports])
    for report in reports:
        terminal.say(console, report.verdict)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C says that nothing was written, and ends with its code."""
    try:
        yield
    except KeyboardInterrupt:
        terminal.console().print("interrupted: nothing was written")
        sys.exit(terminal.INTERRUPTED)


@contextmanager
def user_code(console: Console, target: str, seconds: float) -> Iterator[None]:
    """A user's code: what cannot be audited ends with 1 and says why; wrong usage, and sys.exit, with 2."""
    torch.set_num_threads(1)  # The tensors are small: more threads only wait for each other.
    try:
        with interruptible(), quietly(seconds) as printed:
            yield
    except TooLong:
        terminal.say(console, f"could not be audited: {target} took over {seconds:g} s (--time-limit)")
        sys.exit(1)
    except ValueError as error:
        raise click.UsageError(f"{target}: {error}") from error
    except (AdvantageError, MetricError) as error:
        terminal.say(console, f"could not be audited: {error}")
        sys.exit(1)
    except SystemExit as error:
        if error.code == terminal.INTERRUPTED:
            raise
        raise click.UsageError(f"{target}: it called sys.exit({error.code!r})") from error
    if lines := len(printed.getvalue().splitlines()):
        terminal.say(terminal.console(stderr=True), f"{target} printed {lines} lines, which are not shown")


def load(target: str) -> Callable[..., Any]:
    """The callable that FILE.py:function names; UsageError says what is wrong, or what is there instead."""
    file, colon, name = target.rpartition(":")
    if not (file and colon and name):
        raise click.UsageError(
            f"{target}: a file and a function are needed, as {_TARGET}; the colon is missing"
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


def say(console: Console, verdict: str, rows: Sequence[tuple[str, str]]) -> None:
    """The verdict, and below it what was found, within 80 columns."""
    width = max((len(name) for name, _ in rows), default=0) + 2
    lines = wrap(verdict, WIDTH)
    for name, words in rows:
        for place, part in enumerate(words.splitlines()):
            start = f"  {name if place == 0 else '':<{width}}"
            lines += wrap(part, WIDTH, initial_indent=start, subsequent_indent=" " * len(start))
    for line in (*lines, ""):
        terminal.say(console, line)


def _weights(report: AdvantageReport) -> Table:
    """One row a pass rate."""
    headers = ("V", "weight", "J_G", "variance")
    columns = [report.weight, report.objective, report.variance]
    columns += [weights for _, weights in report.other_sizes]
    rows = [
        (f"{validity:g}", *(f"{column[i]:.4g}" if column else "-" for column in columns))
        for i, validity in enumerate(report.validities)
    ]
    return Table.of((*headers, *(f"weight, G = {size}" for size, _ in report.other_sizes)), rows)


def _overview(reports: Sequence[AuditReport]) -> Table:
    found = ("value estimates", "gradient descends", "ends at", "minimiser", "variance", "dead zones")
    rows = [
        (
            report.loss,
            report.samples,
            report.value.words,
            report.known.words,
            report.selects,
            report.minimiser.words if report.minimiser else "-",
            "-" if report.variance is None else f"{report.variance:.2g}",
            report.dead,
        )
        for report in reports
    ]
    return Table.of(("form", "samples", *found), rows)
