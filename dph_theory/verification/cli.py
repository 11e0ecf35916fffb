"""`dph verify`: progress while it works, a table by paper, a last line with the counts."""

import sys
from itertools import count
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..references import REFERENCES
from ..support import processes, terminal
from ..support.files import STANDARD_OUTPUT, write_json
from .reports import INSTANCES, QUICK_INSTANCES, Report, SearchSettings, settings_for

if TYPE_CHECKING:
    from rich.console import Console

    from .statement import Theorem


DURATION = "this takes about five minutes on two idle processor cores"
"""Time that `--coq` takes, printed before it begins."""


@click.command(short_help="Check every theorem, and that false variants fail.")
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option(
    "--list", "listing", is_flag=True, help="List claims, status, commands and figures; check none."
)
@click.option(
    "--paper", type=click.Choice([*REFERENCES]), metavar="KEY", help="List the claims of a paper, by its key."
)
@click.option(
    "--test-cases",
    "instances",
    type=click.IntRange(min=1),
    help=f"Random test cases per theorem. [default: {INSTANCES}]",
)
@terminal.seed
@click.option("--quick", is_flag=True, help=f"A short run: {QUICK_INSTANCES} test cases, shorter searches.")
@click.option("--coq", is_flag=True, help="Compile the proofs in Coq first, if Coq is installed.")
@click.option(
    "--json", "path", type=terminal.OutputFile(), help='File of the reports; "-" is standard output.'
)
def verify(
    names: tuple[str, ...],
    listing: bool,
    paper: str | None,
    instances: int | None,
    seed: int,
    quick: bool,
    coq: bool,
    path: Path | None,
) -> None:
    """Check every theorem of the registry, or those NAMEd: by name, subject, paper or place ("Theorem 1").

    Exits 0 if every status is the expected one, every stored value is given and every false variant
    was refuted, 1 if not, 2 for wrong usage.
    """
    console = terminal.console(stderr=path == STANDARD_OUTPUT)
    listing = listing or paper is not None
    if listing and path is not None:
        raise click.UsageError("--json writes what a run finds; --list runs nothing")
    search_settings = settings_for(instances=instances, seed=seed, quick=quick)
    try:
        with processes.deferred():
            # Two processes load the registry at once: the one that workers are forked from, and this one.
            # A single theorem, such as kl_control.pass_rate, is checked here.
            single = len(names) == 1 and "." in names[0]
            context = None if single or listing else processes.prepared("dph_theory.verification.run")
            from . import run, tables
        try:
            theorems = run.select(names, paper)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        if listing:
            console.print(tables.listing(theorems), highlight=False, soft_wrap=True)
            return
        accepted, compiled = _compiled(console) if coq else (True, False)
        reports = _run_with_progress(theorems, search_settings, context)
    except KeyboardInterrupt:
        console.print("interrupted: nothing was written")
        sys.exit(terminal.INTERRUPTED)
    if path is not None:
        write_json(path, [report.as_json() for report in reports])
    tables.print_reports(console, theorems, reports, compiled=compiled)
    sys.exit(0 if accepted and reports and all(report.as_expected for report in reports) else 1)


def _compiled(console: "Console") -> tuple[bool, bool]:
    """Print the state of the Coq proofs; True if they stand, and True if Coq compiled them now."""
    from ..coq import compiler, printer, sources
    from ..coq.compilation import recorded
    from ..theorems import THEOREMS
    from .ties import tied_names, untied

    if not compiler.installed():
        console.print(f"Coq proofs: not compiled, Coq is not installed ({compiler.INSTALL}); as recorded:")
        console.print(recorded().summary(), highlight=False)
        return True, False
    console.print(f"Coq proofs: compiling {len(sources.paths())} files; {DURATION}", highlight=False)
    try:
        compilation = printer.compiled(*tied_names())
    except compiler.CoqError as error:
        console.print(f"Coq proofs: Coq refuses them\n{error}", style="red", markup=False)
        return False, False
    differs = compilation.coq == recorded().coq and compilation != recorded()
    lines = [f"Coq proofs: compiled now, in {compilation.seconds:.0f} seconds:", compilation.summary()]
    lines += ["  the record says otherwise: python docs/generate.py"] if differs else []
    refused = [f"  {entry.name}: {why}" for entry in THEOREMS.values() for why in untied(entry, compilation)]
    console.print("\n".join(lines + refused), highlight=False)
    return not (differs or refused), True


def _run_with_progress(
    theorems: "list[Theorem]", search_settings: SearchSettings, context: BaseContext | None
) -> list[Report]:
    from .run import verify as run

    done = count(1)
    with terminal.Bars() as bars:
        bars("verifying", 0, len(theorems))

        def advance(report: Report) -> None:
            bars("verifying", next(done), len(theorems), f"{report.theorem} {report.verdict}")

        return run(theorems, search_settings, context=context, on_report=advance)
