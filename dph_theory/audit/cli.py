"""`dph audit loss | advantage | metric | catalogue`: audits of functions in a file, and of published ones.

Each command exits with 0 if the function could be audited, 1 if it failed on all problems, 2 for wrong usage.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from types import ModuleType
from typing import Any

import click
from rich.console import Console

from ..support import terminal
from ..support.errors import choice
from ..support.files import STANDARD_OUTPUT, write_json
from ..support.user_code import TooLong, blamed, quietly
from .report import SAMPLES, AuditError, LossReport

_TARGET = "FILE.py:function"
WIDTH, MOST_LINES = 80, 20
"""Number of tokens of an answer."""
_OUTPUT = terminal.OutputFile()
_target = click.argument("target", metavar=_TARGET)
_json = click.option("--json", "json_path", type=_OUTPUT, help="File of the findings.")
LONGEST = 120.0
"""Seconds that a user's function may take."""


@click.command(name="loss", short_help="Which divergence's gradient a loss has.")
@_target
@click.option(
    "--samples",
    type=click.Choice(SAMPLES),
    help="Origin of samples; by default the policy, and an old one beside it if log_old is taken.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the problems."
)
@_json
def loss_command(target: str, samples: str | None, seed: int, json_path: Path | None) -> None:
    """Find the divergence that a loss estimates and the one whose gradient it has, by exact enumeration.

    The loss is a torch function of any of log_pi, log_ref, log_old, advantages and mask, tensors of shape
    (batch, tokens), advantages also (batch,), that returns a scalar, or a tuple that begins with one. It
    is given the sampled tokens' log-probabilities alone: a divergence summed over the whole vocabulary, as
    in distillation, cannot be audited, in neither direction.
    """
    from .argument_names import arguments_of
    from .loss import audit

    def audits(loss: Callable[..., Any]) -> list[LossReport]:
        both = ("policy", "old_policy") if "log_old" in arguments_of(loss) else ("policy",)
        return [audit(loss, samples=source, seed=seed) for source in ([samples] if samples else both)]

    reports = _audit(target, json_path, audits)
    sys.exit(int(all(report.failed for report in reports)))


@click.command(name="advantage", short_help="How an advantage weights prompts, and what it maximises.")
@_target
@click.option(
    "--group-size", type=click.IntRange(2), default=8, show_default=True, help="G, the answers to a prompt."
)
@_json
def advantage_command(target: str, group_size: int, json_path: Path | None) -> None:
    """Find how an advantage, rewards (groups, G) -> advantages, weights prompts, and what it maximises."""
    from .advantage import audit_advantage

    def audits(advantage: Callable[..., Any]) -> list[LossReport]:
        return [audit_advantage(advantage, group_size=group_size)]

    _audit(target, json_path, audits)


@click.command(name="metric", short_help="Whether a Pass@k is one, and its bias.")
@_target
@_json
def metric_command(target: str, json_path: Path | None) -> None:
    """Find what a metric, (n, c, k), (matrix of 0 and 1, k) or (list, k) -> number, estimates."""
    from .metric import audit_metric

    _audit(target, json_path, lambda metric: [audit_metric(metric)])


@click.command(name="catalogue", short_help="What published KL terms, losses and advantages do.")
@click.argument("trainer", metavar="[TRAINER]", required=False)
@_json
def catalogue_command(trainer: str | None, json_path: Path | None) -> None:
    """Audit the KL terms and policy losses of a trainer: what each minimises, and the limit of training.

    TRAINER is one of those that are listed without it; "papers" audits the losses of papers, "advantages" how
    published advantages weight prompts, in groups of 8. Every form is audited anew, half a second each.
    """
    from .catalogue import LOSSES, PAPERS, audit_advantages, audit_catalogue

    names = [getattr(form, "trainer", PAPERS) for forms in LOSSES.values() for form in forms]
    chosen = {name.lower(): name for name in (*names, "advantages")}
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    if trainer is None:
        if json_path is not None:
            raise click.UsageError("--json: no TRAINER is given, so there are no findings to write")
        listed = [f"{name} ({names.count(name) or 'all'})" for name in chosen.values()]
        terminal.say(console, "\n".join(wrap(f"Forms audited by trainer: {', '.join(listed)}.", WIDTH)))
        terminal.say(console, "Next: dph audit catalogue TRL")
        return
    try:
        choice("trainer", trainer.lower(), tuple(chosen))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    name = chosen[trainer.lower()]
    with _interruptible():
        if name == "advantages":
            reports: list[LossReport] = [*audit_advantages((8,))]
        else:
            reports = [report for table in LOSSES for report in audit_catalogue(table, trainer=name)]
    if json_path is not None:
        write_json(json_path, [report.to_dict() for report in reports])
    for report in reports:
        terminal.say(console, "\n".join(wrap(report.verdict, WIDTH, subsequent_indent="  ")))


def _audit(
    target: str, json_path: Path | None, audits: Callable[[Callable[..., Any]], list[LossReport]]
) -> list[LossReport]:
    """Load the user's function (FILE.py:NAME), audit it, print the reports and write them as JSON."""
    function, console = _load(target), terminal.console(stderr=json_path == STANDARD_OUTPUT)
    with terminal.Bars() as bars, _user_code(console, target):
        bars("auditing", 0, 1, target)
        reports = audits(function)
        bars("auditing", 1, 1, target)
    if json_path is not None:
        off_policy = {"off_policy": reports[1].to_dict()} if len(reports) > 1 else {}
        write_json(json_path, {**reports[0].to_dict(), **off_policy})
    rows = [row for report in reports for row in report.rows()]
    say(console, [report.verdict for report in reports], rows)
    for table in [] if rows else reports[0].tables():
        console.print(table.rich())
    return reports


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        terminal.console().print("interrupted: nothing was written")
        sys.exit(terminal.INTERRUPTED)


@contextmanager
def _user_code(console: Console, target: str) -> Iterator[None]:
    """Run user code: exit 1 if it cannot be audited, 2 for wrong usage or a call of sys.exit."""
    if "torch" in sys.modules:  # The tensors are small: more threads only wait for each other.
        sys.modules["torch"].set_num_threads(1)
    try:
        with _interruptible(), quietly(LONGEST) as printed:
            yield
    except TooLong:
        terminal.say(console, f"could not be audited: {target} took over {LONGEST:g} s")
        sys.exit(1)
    except AuditError as error:
        terminal.say(console, f"could not be audited: {error}")
        sys.exit(1)
    except ValueError as error:
        raise click.UsageError(f"{target}: {error}") from error
    except SystemExit as error:
        if error.code == terminal.INTERRUPTED:
            raise
        raise click.UsageError(f"{target}: it called sys.exit({error.code!r})") from error
    if lines := len(printed.getvalue().splitlines()):
        terminal.say(terminal.console(stderr=True), f"{target} printed {lines} lines, which are not shown")


def _load(target: str) -> Callable[..., Any]:
    """The callable that FILE.py:NAME names; UsageError says what is wrong and which names exist."""
    file, colon, name = target.rpartition(":")
    if not (file and colon and name):
        needed = f"a file and a function are needed, as {_TARGET}; the colon is missing"
        raise click.UsageError(f"{target}: {needed}")
    path = Path(file)
    if not path.is_file():
        raise click.UsageError(f"{target}: there is no file {path}")
    module = _imported(path)
    function = getattr(module, name, None)
    if not callable(function):
        values = {key: value for key, value in vars(module).items() if callable(value)}
        home = module.__name__
        own = [key for key, value in values.items() if getattr(value, "__module__", home) == home]
        raise click.UsageError(f"{path} has no callable {name!r}; found in it: {', '.join(own) or 'none'}")
    return function


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


def say(console: Console, verdicts: Sequence[str], rows: Sequence[tuple[str, str]]) -> None:
    """Print the summaries, then findings as (name, words), within MOST_LINES lines of 80 columns."""
    lines = [line for verdict in verdicts for line in (*wrap(verdict, WIDTH), "")]
    findings = {name: words for name, words in reversed(rows) if words not in " ".join(verdicts)}
    width = max(map(len, findings), default=0) + 2
    more = "  The other findings stand in what --json FILE writes."
    if len(lines) > MOST_LINES:
        lines, findings = [*lines[: MOST_LINES - 1], more], {}
    for name, words in reversed(findings.items()):
        start = f"  {name:<{width}}"
        part = wrap(words, WIDTH, initial_indent=start, subsequent_indent=" " * len(start))
        if len(lines) + len(part) >= MOST_LINES:
            lines.append(more)
            break
        lines += part
    for line in lines:
        terminal.say(console, line)
