"""`dph atlas`: what each published method converges to, and a method of one's own beside them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..support import terminal
from ..support.errors import meant
from ..support.files import STANDARD_OUTPUT, write_json, write_text
from ..support.record import as_json, record

_OUTPUT = terminal.OutputFile()
WIDTH = 80
"""Columns of the table at a terminal; the files have them all."""


@click.command(name="atlas", short_help="What each published method converges to, and your own.")
@click.argument("target", metavar="[FILE.py:advantage]", required=False)
@click.option(
    "--only", "names", multiple=True, metavar="NAME", help="A method of the atlas; may be repeated."
)
@terminal.seed
@click.option("--json", "json_path", type=_OUTPUT, help="File of the rows; - prints them.")
@click.option("--html", "html_path", type=_OUTPUT, help="File of the table, HTML.")
@click.option("--latex", "latex_path", type=_OUTPUT, help="File of the table, LaTeX.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    help="Seconds that FILE.py's advantage may take.",
)
def atlas_command(
    target: str | None,
    names: tuple[str, ...],
    seed: int,
    json_path: Path | None,
    html_path: Path | None,
    latex_path: Path | None,
    time_limit: float,
) -> None:
    """Compute what each published method converges to, its sampling noise, and whether lost answers return.

    On three small problems, by flows and chains of its update; some minutes for all of them.

    FILE.py:advantage adds a row for a method of your own: a function of rewards (groups, 4), zeros and ones,
    and, if it asks for them by name, of log_pi and log_ref, the log-probabilities of whole answers, to as
    many advantages. Beside it then stands GRPO, or what --only names.
    """
    # Loaded here, torch with them, so that --help answers at once.
    from ..audit.cli import interruptible, load, user_code
    from .published_methods import PublishedMethod
    from .rows import LEGEND, AtlasRow, atlas, grouped, in_short, row_of, table
    from .updates import of_rewards

    methods = _methods_named(names or (("GRPO",) if target else ()))
    printed = [path for path in (json_path, html_path, latex_path) if path == STANDARD_OUTPUT]
    console, rows = terminal.console(stderr=bool(printed)), list[AtlasRow]()
    if target is not None:
        advantage = load(target)
        with user_code(console, target, time_limit):
            own = PublishedMethod(
                name=target.rpartition(":")[2],
                source=Path(target.rpartition(":")[0]).name,
                note="of your own",
                advantage=of_rewards(advantage),
                read="its code",
            )
            rows.append(row_of(own, seed=seed))
    with interruptible(), terminal.Bars() as bars:
        bars("methods", 0, len(methods))
        done = list[AtlasRow]()

        def on_row(row: AtlasRow) -> None:
            done.append(row)
            bars("methods", len(done), len(methods), row.method)

        rows = [*atlas(methods, seed=seed, on_row=on_row), *rows]
    if json_path is not None:
        results, packages = {"rows": as_json(rows, 4)}, ("numpy", "scipy", "torch")
        atlas_record = record("atlas", seed=seed, config={}, results=results, findings=(), packages=packages)
        write_json(json_path, atlas_record)
    if html_path is not None:
        write_text(html_path, table(rows).html() + "\n")
    if latex_path is not None:
        write_text(latex_path, table(rows).latex())
    console.width = min(console.width, WIDTH)
    console.print(in_short(rows), highlight=False)
    console.print(grouped(rows).rich())
    for line in LEGEND:
        terminal.say(console, line)
    terminal.say(console, "Next: dph predict CONFIG  # what the settings of a run do")


def _methods_named(names: Sequence[str]) -> list[Any]:
    from .published_methods import PUBLISHED_METHODS

    methods = {method.name: method for method in PUBLISHED_METHODS}
    if unknown := [name for name in names if name not in methods]:
        near = meant(unknown[0], tuple(methods))
        hint = f"; is {near} meant?" if near else ""
        raise click.UsageError(f"--only {unknown[0]!r}: one of {', '.join(methods)}{hint}")
    return [methods[name] for name in names] or list(PUBLISHED_METHODS)
