"""`dph watch` and `dph publish`: a training's curves, and what becomes of its model."""

import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from huggingface_hub import HfApi
from peft import PeftModel
from rich.live import Live

from dph_theory.support import terminal
from dph_theory.support.checking import build
from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_text
from dph_theory.support.table import Table

from ..evaluation.record import EvaluatedSet, Evaluation, Mean
from ..models.load import load_model, load_tokenizer
from ..recipe.folders import Folders
from ..recipe.law import law_of
from ..recipe.schema import Recipe
from .config import FREE
from .metrics import HEADERS, curves, draw, read_metrics, table_rows
from .record import TrainingRecord

CARD = "README.md"


def publish(run: Path, out: Path, *, merge: bool = False) -> None:
    """The trained model of a run's folder in `out`, an adapter merged if asked, with its tokenizer and card.

    ValueError for a run that is not finished, and for an `out` that holds something already.
    """
    folders = Folders.at(run)
    training = TrainingRecord.read(folders.training)
    recipe = build(Recipe, training.config, "")
    if out.exists() and any(out.iterdir()):
        raise argument_error("out", str(out), "a folder that is not there yet, or empty")
    if merge:
        merged(recipe, folders.model, out)
    else:
        shutil.copytree(folders.model, out, dirs_exist_ok=True)
    found = Evaluation.read(folders.evaluation) if folders.evaluation.is_file() else None
    write_text(out / CARD, card(recipe, training, found))


def merged(recipe: Recipe, adapter: Path, out: Path) -> None:
    """The initial model with an adapter's weights added to its own, as a folder of safetensors."""
    if not (adapter / "adapter_config.json").is_file():
        raise argument_error("merge", True, f"a run with an adapter; {adapter} holds a whole model")
    whole = PeftModel.from_pretrained(load_model(recipe.model), str(adapter)).merge_and_unload()
    whole.save_pretrained(out)
    load_tokenizer(recipe.model).save_pretrained(out)


def push(folder: Path, name: str, *, private: bool = True) -> str:
    """Send a folder to a repository of the Hub, made if it is not there, and tell its address."""
    hub = HfApi()
    hub.create_repo(name, private=private, exist_ok=True)
    return str(hub.upload_folder(repo_id=name, folder_path=folder, commit_message="Model and card"))


def card(recipe: Recipe, training: TrainingRecord, evaluation: Evaluation | None) -> str:
    """The model card: front matter, method and settings, the law it tends to, what was measured."""
    front = {"base_model": recipe.model.path, "library_name": "transformers", "tags": ["trl", "grpo", "dph"]}
    arguments = {name: value for name, value in training.arguments.items() if name not in FREE}
    rehearsed = f" {len(training.rehearsed)} prompts rehearsed," if arguments["eta"] else ""
    parts = [
        "---",
        *(f"{key}: {json.dumps(value)}" for key, value in front.items()),
        "---",
        f"# {training.run}",
        f"{recipe.model.path} trained by {training.method} for {training.steps} steps on the task "
        f"`{recipe.task.name}`:{rehearsed} {len(training.explored)} explored.",
        "",
        f"The KL penalty tends to the law: {law_of(arguments)}.",
        "",
        "## Settings",
        "",
        Table.of(
            ("setting", "value"), [(key, json.dumps(value)) for key, value in sorted(arguments.items())]
        ).markdown(),
        "",
        "## During training",
        *(f"- {finding}" for finding in training.findings),
    ]
    if evaluation is not None:
        parts += ["", "## Pass@k", "", Table.of(*_pass_at_k(evaluation.sets)).markdown(), ""]
    return "\n".join([*parts, ""])


def _pass_at_k(sets: Mapping[str, EvaluatedSet]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Headers and a row for each set."""
    ks = list(next(iter(sets.values())).summary.pass_at_k)
    rows = [
        (name, str(of.summary.prompts), *map(_number, (of.summary.greedy, *of.summary.pass_at_k.values())))
        for name, of in sets.items()
    ]
    return ("set", "prompts", "greedy", *(f"Pass@{k}" for k in ks)), rows


def _number(found: Mean) -> str:
    return "" if found.value is None else f"{found.value:.3f}"


SECONDS = 2.0
"""Between two looks at the file."""
_NAMES = 60
"""Columns of the terminal that names and numbers take."""


@click.command(name="watch", short_help="Draw a training's curves in the terminal or to a file.")
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN")
@click.option("--curve", "names", multiple=True, help="What to show, as logged; may be given several times.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Draw to this PNG, SVG or PDF.")
@click.option("--once", is_flag=True, help="Show what there is and end, also while the training runs.")
def watch_command(run: Path, names: Sequence[str], out: Path | None, once: bool) -> None:
    """Show the curves of the run in a folder until it is finished."""
    console = terminal.console()
    try:
        if out is not None:
            draw(_curves(run, names), out)
        if out is not None or once or not console.is_terminal:
            console.print(_table(run, names, console.width).rich())
            return
        with Live(_table(run, names, console.width).rich(), console=console, auto_refresh=False) as live:
            while not Folders.at(run).training.is_file():
                time.sleep(SECONDS)
                live.update(_table(run, names, console.width).rich(), refresh=True)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        sys.exit(terminal.INTERRUPTED)


@click.command(name="publish", short_help="A trained model with its card in a folder, or on the Hub.")
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN")
@click.option("--out", required=True, type=terminal.OutputFolder(), help="A new folder.")
@click.option("--merge", is_flag=True, help="Merge an adapter into its base.")
@click.option("--push", "name", metavar="OWNER/NAME", help="Send the folder to this repository of the Hub.")
@click.option("--public", is_flag=True, help="Make the repository public; else it is private.")
def publish_command(run: Path, out: Path, merge: bool, name: str | None, public: bool) -> None:
    """Copy or merge the model of a finished run, and write its card from the run's records."""
    try:
        publish(run, out, merge=merge)
        address = push(out, name, private=not public) if name else str(out)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    terminal.say(terminal.console(), address)


def _curves(run: Path, names: Sequence[str]) -> dict[str, list[tuple[int, float]]]:
    path = Folders.at(run).metrics
    rows = read_metrics(path)
    if not rows:
        raise click.ClickException(f"{path} has no line yet: dph train writes one a step")
    return curves(rows, names)


def _table(run: Path, names: Sequence[str], width: int) -> Table:
    found = _curves(run, names)
    steps = max(points[-1][0] for points in found.values())
    rows = table_rows(found, max(10, width - _NAMES))
    return Table.of(HEADERS, rows, f"{run.name}, step {steps}")
