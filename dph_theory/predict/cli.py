"""`dph predict`: the pass rates that a trainer's beta leads to, and where training ends with a small one."""

import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from ..dynamics import BASELINES, SmallNoiseWarning, drift_deviation, pass_rate_along, saturation
from ..laws import SCALES
from ..support import terminal
from ..support.files import STANDARD_OUTPUT, write_json
from ..support.table import Table
from ..trainers import ENDS, PREDICTED, TRAINERS, kl_form
from . import Budget, Prediction, predict
from .configuration import READERS, configuration_of
from .settings import read

_RATES = "base-rates"
_POSITIVE = click.FloatRange(min=0, min_open=True)
_SHARE = click.FloatRange(min=0, max=1, max_open=True)
REACHED = 0.9
"""The pass rate at which the drift of a run without a KL is told."""
NAMES = tuple(dict.fromkeys(form.name for form in PREDICTED))


@click.command(name="predict", short_help="Tell the law of a run's whole configuration.")
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("overrides", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--trainer", type=click.Choice(tuple(READERS)), help="Whose; else told by the names.")
@click.option("--version", help="TRL's, such as 1.9: its default KL changed in 1.10.")
@click.option("--json", "json_path", type=terminal.OutputFile(), help="Write it there.")
def configuration_command(
    config: Path, overrides: tuple[str, ...], trainer: str | None, version: str | None, json_path: Path | None
) -> None:
    """Tell what a run's whole configuration penalises, where it ends, and which settings are inert.

    CONFIG is a YAML, JSON or TOML file of settings, Python that calls GRPOConfig, or a file with the command
    line.
    """
    try:
        found = configuration_of(read(config, overrides), trainer, version=version)
    except (SyntaxError, ValueError) as error:
        raise click.UsageError(f"{config}: {error}") from error
    if json_path is not None:
        write_json(json_path, asdict(found))
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    console.print(*(table.rich() for table in found.tables()))


class _OrConfiguration(click.Command):
    """Numbers asked for by options; a first word that is none is a configuration."""

    of_file = configuration_command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """That of `configuration_command` for a file."""
        if args and not args[0].startswith("-"):
            return self.of_file.make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(name="predict", cls=_OrConfiguration, short_help="Predict what a trainer's beta will do.")
@click.option("--trainer", required=True, type=click.Choice(TRAINERS), help="Whose KL term it is.")
@click.option("--version", help="The trainer's version, such as 1.16: it decides TRL's default form.")
@click.option("--form", "name", type=click.Choice(NAMES), help="The KL term by name.")
@click.option("--beta", required=True, type=click.FloatRange(min=0), help="KL coefficient; 0: the drift.")
@click.option("--group-size", required=True, type=click.IntRange(2, 4096), help="Answers sampled a prompt.")
@click.option("--scale", type=click.Choice(tuple(SCALES)), help="The advantages' divisor. [default: std]")
@click.option("--false-positive", default=0.0, type=_SHARE, help="Share of wrong answers accepted.")
@click.option("--false-negative", default=0.0, type=_SHARE, help="Share of right answers refused.")
@click.option("--step", type=_POSITIVE, help="A step's size in logits, as the collapse meter logs it.")
@click.option("--learning-rate", type=(_POSITIVE, _POSITIVE), help="Yours, and that of the --step measured.")
@click.option("--steps", type=click.IntRange(min=1), help="How long you train: the pass rate on the way.")
@click.option("--updates", default=1, type=click.IntRange(min=1), help="Updates on each batch.")
@click.option("--per-answer-mean", is_flag=True, help="The loss averages over each answer's tokens.")
@click.option(
    "--baseline", type=click.Choice(tuple(BASELINES)), help="At beta 0: of verdicts. [default: all]"
)
@click.option("--answers", default=64, type=click.IntRange(min=1), help="Answers a step, of all groups.")
@click.option("--right", default=2, type=click.IntRange(min=2), help="Right answers, equally likely.")
@click.option("--wrong", default=8, type=click.IntRange(min=1), help="Wrong answers, equally likely.")
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
    false_positive: float,
    false_negative: float,
    step: float | None,
    learning_rate: tuple[float, float] | None,
    steps: int | None,
    updates: int,
    per_answer_mean: bool,
    baseline: str | None,
    answers: int,
    right: int,
    wrong: int,
    base_rates: Path,
    json_path: Path | None,
) -> None:
    """Predict the pass rates a KL coefficient leads to, on prompts that a single decision answers.

    `dph predict CONFIG [NAME=VALUE]...` tells the law of a whole configuration of one of nine trainers.

    Prints the law that the trainer's KL term has, each prompt's predicted validity, the beta of other
    settings with the same mean, and the policy that training ends at with a small beta. With beta = 0 there
    is no such end: it prints how far sampling drives equally likely right answers apart on the way. With
    --steps, which needs --step, also where a training of that length is, without noise.
    """
    rates = _read(base_rates)
    step = _scaled(step, learning_rate, steps)
    budget = None if steps is None or step is None else Budget(steps, step, right, wrong)
    notes = _notes(updates, per_answer_mean)
    if beta == 0:
        counts = {"valid": right, "invalid": wrong, "answers": answers}
        chosen = tuple(BASELINES) if baseline is None else (baseline,)
        _without_kl(rates, step, budget, counts, chosen, notes, json_path)
        return
    if baseline is not None:
        raise click.UsageError("--baseline: at --beta 0 alone; with a KL the law is the same for all")
    errors = {"false_positive": false_positive, "false_negative": false_negative}
    try:
        form = kl_form(trainer, name, version)
        found = predict(form, beta, group_size, list(rates.values()), scale=scale, budget=budget, **errors)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if json_path is not None:
        write_json(json_path, _plain(found))
    _print(terminal.console(stderr=json_path == STANDARD_OUTPUT), found, list(rates), notes)


def _print(console: Console, found: Prediction, names: list[str], notes: list[str]) -> None:
    """The law, each prompt's end, the betas alike, and what a small beta selects."""
    form = found.form
    console.print(f"{form.trainer}, {form.flags}: {form.law}", markup=False, highlight=False)
    console.print(_prompts(found, names).rich())
    if found.equivalent:
        console.print(_equivalent(found).rich())
    else:
        console.print(
            "No beta of another setting is told: this mean is too near 1, or the others jump past it."
        )
    console.print(f"With a small beta it ends at {ENDS[form.selects]}: the {form.selects}.", highlight=False)
    if form.note:
        console.print(f"Note: {form.note}.", highlight=False)
    if any(prompt.others for prompt in found.prompts):
        console.print("Where several pass rates are stable, the run's start decides which it reaches.")
    for note in notes:
        terminal.say(console, note)


def _scaled(step: float | None, learning_rate: tuple[float, float] | None, steps: int | None) -> float | None:
    """The step in logits at the learning rate asked for."""
    if step is None and (steps is not None or learning_rate is not None):
        raise click.UsageError("--steps and --learning-rate need --step, a step's size in logits")
    if step is None or learning_rate is None:
        return step
    return step * learning_rate[0] / learning_rate[1]


def _notes(updates: int, per_answer_mean: bool) -> list[str]:
    """What these settings change, and what of it no number here covers."""
    notes = []
    if updates > 1:
        notes.append(
            f"{updates} updates on a batch leave the law as it is (theory G7); they change noise and time, "
            "which are not predicted here: --steps counts as many single updates."
        )
    if per_answer_mean:
        notes.append(
            "Means over each answer's tokens change nothing where answers are equally long, or where the KL "
            "is in the reward; under a token penalty longer right answers gain (theory G8; "
            "`laws.token_law(per_answer_mean=True)` has the law)."
        )
    return notes


def _without_kl(
    rates: dict[str, float],
    step: float | None,
    budget: Budget | None,
    setting: dict[str, int],
    baselines: tuple[str, ...],
    notes: list[str],
    json_path: Path | None,
) -> None:
    """What is known of a run without a KL: its path, and the drift between right answers (theory A2, G3)."""
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    for sentence in (
        "beta = 0: nothing holds the policy to the base, and training has no law to end at.",
        "Without noise the pass rate of every prompt that is ever solved tends to 1, and the likeliest right "
        "answers take all of it in the end (theory A2).",
        *notes,
    ):
        terminal.say(console, sentence)
    if step is None:
        terminal.say(console, "Give --step, an update's size in logits, for the drift that sampling adds.")
        return
    rows: list[tuple[str, ...]] = []
    found: dict[str, dict[str, float]] = {}
    reached = {name: _reached(rate, budget) for name, rate in rates.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallNoiseWarning)  # Told in words below.
        for name, rate in rates.items():
            end = reached[name]
            if 0 < rate < end < 1:
                found[name] = {
                    c: float(drift_deviation(rate, end, step=step, baseline=c, **setting)) for c in baselines
                }
            numbers = [f"{deviation:.4f}" for deviation in found.get(name, {}).values()]
            rows.append((name, f"{rate:.4f}", f"{end:.4f}", *(numbers or ["-"] * len(baselines))))
    title = "Deviation over seeds of the log ratio of two equally likely right answers, by then"
    headers = ("prompt", "base rate", "pass rate", *(f"baseline {c}" for c in baselines))
    console.print(Table.of(headers, rows, title).rich())
    drifts = [one[c] for one in found.values() for c in baselines]
    most = max((float(saturation(drift)) for drift in drifts), default=0.0)
    if most > 0.05:
        terminal.say(
            console, f"The noise is not small: these first-order numbers may be {most:.0%} too large."
        )
    if json_path is not None:
        write_json(json_path, {"beta": 0.0, "reached": reached, "step": step, **setting, "deviation": found})


def _reached(rate: float, budget: Budget | None) -> float:
    """The pass rate after the steps of a budget, REACHED without one."""
    if budget is None or not 0 < rate < 1:
        return REACHED
    times = [budget.steps * budget.step]
    return float(pass_rate_along(rate, times, valid=budget.valid, invalid=budget.invalid)[0])


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
    rows = [
        (
            name,
            f"{p.base_rate:.4f}",
            *(() if p.on_the_way is None else (_rate(p.on_the_way, p.base_rate),)),
            _rate(p.validity, p.base_rate),
            ", ".join(map(_rate, p.others)) or "-",
        )
        for name, p in zip(names, found.prompts, strict=True)
    ]
    ways = [p.on_the_way for p in found.prompts if p.on_the_way is not None]
    on_the_way = [f"{np.mean(ways):.4f}"] if ways else []
    mean = _rate(found.mean_validity, found.mean_base_rate)
    rows.append(("mean", f"{found.mean_base_rate:.4f}", *on_the_way, mean, ""))
    way = ["after the steps"] if ways else []
    return Table.of(("prompt", "base rate", *way, "predicted", "also stable"), rows)


def _rate(validity: float, base_rate: float = 0.0) -> str:
    """A pass rate; four digits do not round it up to 1."""
    return "> 0.9999" if validity > 0.99995 and base_rate < 1 else f"{validity:.4f}"


def _equivalent(found: Prediction) -> Table:
    rows = ((words, f"{beta:.4g}") for words, beta in found.equivalent.items())
    return Table.of(("setting", "beta for the same mean"), rows)


def _plain(found: Prediction) -> dict[str, object]:
    form = {"trainer": found.form.trainer, "form": found.form.name, "law": found.form.law}
    return asdict(found) | {"form": form | {"selects": found.form.selects}}
