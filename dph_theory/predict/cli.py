"""`dph predict`: the pass rates that a trainer's beta leads to, and what it selects as it falls."""

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from ..laws import SCALES
from ..support import terminal
from ..support.files import STANDARD_OUTPUT, write_json
from .forms import FORMS, TRAINERS, kl_form
from .prediction import Prediction, predict

_RATES = "base-rates"
NAMES = tuple(dict.fromkeys(form.name for form in FORMS))


@click.command(name="predict", short_help="Predict what a trainer's beta will do.")
@click.option("--trainer", required=True, type=click.Choice(TRAINERS), help="Whose KL term it is.")
@click.option("--version", help="The trainer's version, such as 1.16: it decides TRL's default form.")
@click.option("--form", "name", type=click.Choice(NAMES), help="The KL term by name.")
@click.option("--beta", required=True, type=click.FloatRange(min=0, min_open=True), help="KL coefficient.")
@click.option("--group-size", required=True, type=click.IntRange(min=2), help="Answers sampled a prompt.")
@click.option("--scale", type=click.Choice(tuple(SCALES)), help="The advantages' divisor. [default: std]")
@click.option(
    "--base-rates",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON: a list of the base's pass rates, or an object of them by prompt.",
)
@click.option("--json", "json_path", type=terminal.OutputFile(), help="Write it there.")
def predict_command(
    trainer: str,
    version: str | None,
    name: str | None,
    beta: float,
    group_size: int,
    scale: str | None,
    base_rates: Path,
    json_path: Path | None,
) -> None:
    """Predict the pass rates a KL coefficient leads to, on prompts that a single decision answers.

    Prints the law that the trainer's KL term has, each prompt's predicted validity, the beta of other
    settings with the same mean, and the policy that is selected as beta falls.
    """
    rates = _read(base_rates)
    try:
        form = kl_form(trainer, name, version)
        found = predict(form, beta, group_size, list(rates.values()), scale=scale)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if json_path is not None:
        write_json(json_path, _plain(found))
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    console.print(f"{trainer}, {form.flags}: {form.law}", markup=False, highlight=False)
    console.print(_prompts(found, list(rates)))
    if found.equivalent:
        console.print(_equivalent(found))
    else:
        console.print(
            "No beta of another setting is told: this mean is too near 1, or the others jump past it."
        )
    console.print(f"As beta falls it selects {form.selects}.", highlight=False)
    if form.note:
        console.print(f"Note: {form.note}.", highlight=False)
    if any(prompt.others for prompt in found.prompts):
        console.print("Where several pass rates are stable, the run's start decides which it reaches.")


def _read(path: Path) -> dict[str, float]:
    """The base rates by prompt; UsageError says what is wrong with the file."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise click.UsageError(f"--{_RATES} {path}: no JSON: {error}") from error
    rates = {f"prompt {i + 1}": rate for i, rate in enumerate(read)} if isinstance(read, list) else read
    numbers = isinstance(rates, dict) and all(type(rate) in (int, float) for rate in rates.values())
    if not numbers:
        raise click.UsageError(f"--{_RATES} {path}: must hold a list of numbers, or an object of them")
    return rates


def _prompts(found: Prediction, names: list[str]) -> Table:
    table = Table("prompt", "base rate", "predicted", "also stable", pad_edge=False)
    for name, prompt in zip(names, found.prompts, strict=True):
        others = ", ".join(map(_rate, prompt.others)) or "-"
        table.add_row(name, f"{prompt.base_rate:.4f}", _rate(prompt.validity, prompt.base_rate), others)
    mean = _rate(found.mean_validity, found.mean_base_rate)
    table.add_row("mean", f"{found.mean_base_rate:.4f}", mean, "", style="bold")
    return table


def _rate(validity: float, base_rate: float = 0.0) -> str:
    """A pass rate; no beta above 0 reaches 1 from below."""
    return "> 0.9999" if validity > 0.99995 and base_rate < 1 else f"{validity:.4f}"


def _equivalent(found: Prediction) -> Table:
    table = Table("setting", "beta for the same mean", pad_edge=False)
    for words, beta in found.equivalent.items():
        table.add_row(words, f"{beta:.4g}")
    return table


def _plain(found: Prediction) -> dict[str, object]:
    form = {"trainer": found.form.trainer, "form": found.form.name, "law": found.form.law}
    return asdict(found) | {"form": form | {"selects": found.form.selects}}
