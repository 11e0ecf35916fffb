"""`dph confront`: what changed between two checkpoints, from how often each prompt was answered correctly."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from dph_theory.counts import Confrontation, confront, five_lines, matched, read_counts
from dph_theory.support import terminal
from dph_theory.support.files import STANDARD_OUTPUT, write_json, write_text
from dph_theory.support.frozen import as_json
from dph_theory.support.record import record

from .tables import tables

KIND = "confront"
_PATH = click.Path(exists=True, path_type=Path)


class Budgets(click.ParamType):
    """Whole numbers with commas between."""

    name = "k,k,..."

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The numbers in increasing order, each once."""
        parts = value.split(",")
        if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
            self.fail(f"{value!r}: whole numbers from 1 on, with commas between", param, ctx)
        return tuple(sorted({int(part) for part in parts}))


class Difference(click.ParamType):
    """A difference of Pass@1, or of Pass@k after an @."""

    name = "d[@k]"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, int]:
        """The difference and k."""
        difference, _, k = value.partition("@")
        try:
            return float(difference), int(k or 1)
        except ValueError:
            self.fail(f"{value!r}: a number such as 0.02, or with a k such as 0.02@8", param, ctx)


@click.command(name="confront", short_help="Tell what changed between two checkpoints, from counts alone.")
@click.argument("base", type=_PATH)
@click.argument("runs", type=_PATH, nargs=-1, required=True, metavar="RUN...")
@click.option("--from", "trainer", type=click.Choice(("trl", "verl")), help="Whose log of answers they are.")
@click.option("--reward", help="The log's column of verdicts. [default: the only one; verl: acc, else score]")
@click.option(
    "--correct-from", type=float, default=1.0, show_default=True, help="Correct from this reward on."
)
@click.option("--set", "prompts", help="Of folders of dph evaluate: which prompts. [default: the only set]")
@click.option("--allow-missing", is_flag=True, help="Leave out, and count, what one file lacks.")
@click.option("--k", "ks", type=Budgets(), help="Pass@k at these k. [default: every k up to the least n]")
@click.option("--group-size", type=click.IntRange(min=2), default=8, show_default=True, help="Of training.")
@click.option(
    "--power", type=Difference(), multiple=True, help="What tells 0.02 of Pass@1, or 0.02@8 of Pass@8."
)
@click.option(
    "--draws", type=click.IntRange(min=2), default=4000, show_default=True, help="Of the bootstrap."
)
@terminal.seed
@click.option("--json", "json_path", type=terminal.OutputFile(), help="Write everything there; - prints it.")
@click.option("--folder", type=terminal.OutputFolder(), help="For a page and figures.")
@click.option("--format", "form", default="pdf,svg", show_default=True, help="Formats of the figures.")
def confront_command(
    base: Path,
    runs: tuple[Path, ...],
    trainer: str | None,
    reward: str | None,
    correct_from: float,
    prompts: str | None,
    allow_missing: bool,
    ks: tuple[int, ...] | None,
    group_size: int,
    power: tuple[tuple[float, int], ...],
    draws: int,
    seed: int,
    json_path: Path | None,
    folder: Path | None,
    form: str,
) -> None:
    """Hold each RUN against BASE: files of rows {"id", "n", "c"}, c correct among n answers to a prompt.

    JSON lines, .csv, .parquet, a trainer's log of answers (--from), or a run's folder of dph evaluate.

    Prints what changed in five lines and tables: Pass@k with a band over all k, the prompts kept and newly
    solved, the gain in log odds and the law of training it obeys, and what a loss is made of. Exits 2 for
    files that cannot be read or paired, naming file and line.
    """
    read = partial(read_counts, trainer=trainer, reward=reward, correct_from=correct_from)
    console, found = terminal.console(highlight=False), []
    try:
        first = read(base, prompts=prompts, allow_cut_off=allow_missing)
        for path in runs:
            run = read(path, prompts=prompts, allow_cut_off=allow_missing)
            both = matched(first, run, allow_missing=allow_missing)
            asked = {"group_size": group_size, "draws": draws, "seed": seed}
            found.append(confront(first, run, both, ks=ks, power=power, **asked))
            if json_path != STANDARD_OUTPUT:
                _show(console, found[-1])
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    stored = _record(found, seed, {"k": ks, "group_size": group_size, "draws": draws, "power": power})
    if json_path is not None:
        write_json(json_path, stored)
    if folder is not None:
        for path in write_folder(folder, found, stored, form):
            console.print(path, soft_wrap=True, markup=False)


def _record(found: Sequence[Confrontation], seed: int, config: Mapping[str, Any]) -> dict[str, Any]:
    lines = [line for one in found for line in five_lines(one)]
    results = {"runs": [as_json(one) for one in found]}
    packages = ("numpy", "scipy")
    return record(KIND, seed=seed, config=config, results=results, findings=lines, packages=packages)


def _show(console: Console, found: Confrontation) -> None:
    for line in five_lines(found):
        console.print(line, markup=False)
    for table in tables(found):
        rows = [list(map(escape, row)) for row in table.words()]
        console.print(
            terminal.fitted(console, table.head, rows, table.head, title=table.title, title_justify="left")
        )


def write_folder(
    folder: Path, found: Sequence[Confrontation], stored: Mapping[str, Any], form: str
) -> list[Path]:
    """Write the record, a sheet of figures for each run, and the page; gives their paths."""
    from ..results import drawings
    from .page import page
    from .sheet import sheet

    chosen = drawings.formats(form)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{KIND}.json", stored)
    paths = [folder / f"{KIND}.json"]
    for number, one in enumerate(found, start=1):
        paths += drawings.save(f"{KIND}-{number}", sheet(one), chosen, folder)
    write_text(folder / "index.html", page(list(found), f"{KIND}.json"))
    return [*paths, folder / "index.html"]
