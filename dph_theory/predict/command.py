"""The work of `dph predict`: read the settings and files, predict, and print the answer."""

import json
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click
import numpy as np

from ..losses.objective import Objective
from ..numeric.arrays import probability
from ..support import terminal
from ..support.files import STANDARD_OUTPUT, write_json
from .configuration import DECIDING, Case, Configuration, configured, overridden
from .prediction import predict
from .reading import SettingsReading, tables, trainer_named, trainer_of
from .report import WIDTH, Base, PredictionReport
from .scanning import ScannedFile, scan
from .stored_runs import Advice, retained_more
from .values import Stated, collected, plain


@dataclass(frozen=True)
class _Run:
    """A run as the user names it: the words, the settings, and what they amount to."""

    words: tuple[str, ...]
    reading: SettingsReading
    configuration: Configuration
    is_recipe: bool = False

    def number(self, key: str) -> float | None:
        """The positive number of the setting "rate" (learning rate) or "steps"; None if it is not given."""
        ones = self.reading.given.get(plain(self.reading.table[key]))
        value = ones[0].value if ones else None
        return float(value) if isinstance(value, int | float) and value > 0 else None

    def changed(self, settings: Sequence[str]) -> Objective:
        """Objective of the run with the settings NAME=VALUE in place of its own."""
        reading = self.reading
        given = overridden(reading.given, settings)
        return configured(SettingsReading(reading.trainer, given, reading.text, reading.chosen)).objective


def print_prediction(
    config: str,
    overrides: tuple[str, ...],
    counts: Path | None,
    base_rates: Path | None,
    trainer: str | None,
    version: str | None,
    steps: int | None,
    k: int | None,
    json_path: Path | None,
    transfer: Path | None,
    show_all: bool,
    **options: Any,
) -> None:
    """Print the prediction, and write it to a file if one is named; UsageError for what is not allowed."""
    base = _rates(counts, base_rates, {name: options.pop(name) for name in terminal.COUNTS_OPTIONS})
    of_kernel = {"held_out": options.pop("held_out"), "batch": options.pop("prompts_a_step")}
    if steps is not None and transfer is None:
        raise click.UsageError("--steps needs --transfer, the kernel whose training is forecast")
    k = k or (8 if transfer is None else 256)
    forecast, prediction, retained = None, None, None
    try:
        run = _run(config, overrides, trainer, version)
        steps = steps or int(run.number("steps") or 0) or None
        objective = run.configuration.objective
        if transfer is not None:
            forecast = _forecast(transfer, run, steps=steps, k=k, **of_kernel)
        elif not run.is_recipe:
            retained = retained_more(objective, run.reading.table["retains"], run.changed)
        if base is not None and not objective.unpredicted and not objective.undecided:
            prediction = predict(run.configuration, base.rates, **options)
    except ValueError as error:
        raise click.UsageError(f"{config}: {error}") from error
    parts = (run.configuration, prediction, base, k, forecast, retained, _next(run, retained, transfer))
    report = PredictionReport(*parts, kernel=str(transfer or ""))
    if json_path is not None:
        write_json(json_path, report.to_dict())
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    terminal.say(console, "\n".join(report.lines(everything=show_all)))
    if show_all:
        _details(console, report)


def _run(config: str, overrides: tuple[str, ...], trainer: str | None, version: str | None) -> _Run:
    """Run read from a settings file or from a trainer's defaults (`config` is its name), with NAME=VALUE."""
    path, words = Path(config), (config, *overrides)
    if not path.is_file():
        if path.suffix or path.parent != Path():
            raise ValueError("there is no such file")
        reading = SettingsReading(trainer_named(config), overridden({}, overrides), "", version)
        return _Run(words, reading, configured(reading))
    place = (click.get_current_context().find_root().obj or {}).get("recipes")
    is_yaml = path.suffix in (".yaml", ".yml") and trainer is None
    if place and is_yaml and (recipe := resolve_name(place)(path, overrides)) is not None:
        configuration = Configuration("dph on TRL", f"({recipe.name})", (Case("", recipe.objective),))
        given = collected((name, Stated(value, "recipe")) for name, value in recipe.settings.items())
        return _Run(words, SettingsReading("trl", given), configuration, is_recipe=True)
    file: ScannedFile = scan(path)
    settings = overridden(file.settings, overrides)
    name = trainer_of(settings, file.text) if trainer is None else trainer_named(trainer)
    if name is None:
        allowed, first = ", ".join(tables()), ", ".join([*settings][:6])
        raise ValueError(f"no trainer known here (--trainer: one of {allowed}); settings seen: {first}")
    reading = SettingsReading(name, settings, file.text, version)
    return _Run(words, reading, configured(reading))


def _forecast(path: Path, run: _Run, **training: Any) -> Any:
    """Forecast of Pass@k from a kernel file of `dph transfer`; ValueError names a setting that is missing."""
    from ..transfer import AnswerKernel, LinearisedMethod
    from .shared_model import forecast

    objective, rate = run.configuration.objective, run.number("rate")
    if objective.rehearsal is not None:
        raise ValueError("--transfer forecasts no rehearsal: use method.name=GRPO for the unsolved prompts")
    if rate is None:
        raise ValueError(
            f"--transfer needs the learning rate of Adam: {run.reading.table['rate']}=1e-6, or yours"
        )
    if training["steps"] is None:
        raise ValueError("--transfer needs how long you train: --steps")
    method = LinearisedMethod.from_objective(objective)
    return forecast(AnswerKernel.load(path), method, learning_rate=rate, **training)


def _next(run: _Run, retained: Advice | None, transfer: Path | None) -> str:
    """Next command for the user: a misspelt name corrected, a doubt decided, or settings that retain more."""
    if transfer is not None:
        return "dph compare --help  # once trained: what changed, by counts of both"
    words, unread = list(run.words), (*run.configuration.suspicious, *run.configuration.not_read)
    meant = dict(name.removesuffix(" meant?)").split(" (is ") for name in unread if " (is " in name)
    for at, (name, _, value) in enumerate(word.partition("=") for word in run.words):
        words[at] = f"{meant[plain(name)]}={value}" if plain(name) in meant else words[at]
    comment = ""
    if words != list(run.words):
        pass
    elif run.configuration.doubts:
        words.append(run.reading.decided(DECIDING))
        comment = "  # or your value"
    elif retained is not None:
        changed = {plain(setting.partition("=")[0]): setting.lstrip("-") for setting in retained.settings}
        words = [word for word in words if plain(word.partition("=")[0]) not in changed] + [*changed.values()]
    else:
        return "dph transfer --help  # measures your prompts; then add --transfer"
    return f"dph predict {shlex.join(words)}{comment}"


def _details(console: Any, report: PredictionReport) -> None:
    """Print each prompt's predicted pass rates, and the forecast's tables and notes."""
    console.width = min(console.width, WIDTH)
    shown = [one for one in (report.forecast, report.prediction) if one is not None]
    for table in (table for one in shown for table in one.tables()):
        console.print()
        console.print(table.rich())
    for note in report.forecast.notes() if report.forecast else ():
        terminal.say(console, textwrap.fill(note, WIDTH))


def _rates(counts: Path | None, base_rates: Path | None, reading: Mapping[str, Any]) -> Base | None:
    """Base pass rates from a counts file or a file of rates, by prompt if it names them; else UsageError."""
    if counts is not None and base_rates is not None:
        raise click.UsageError("--counts and --base-rates: one of the two")
    try:
        if counts is not None:
            from ..checkpoints import read_counts

            rows = read_counts(counts, **reading).rows.values()
            n, c = (np.array([getattr(row, column) for row in rows]) for column in ("n", "c"))
            return Base({str(row.id): row.c / row.n for row in rows}, n, c)
        return None if base_rates is None else Base(_stored_rates(base_rates))
    except ValueError as error:
        kind = "no JSON: " if isinstance(error, json.JSONDecodeError) else ""
        words = str(error).replace("set=None is not allowed:", "the folder has several sets; add --set,")
        where = f"--base-rates {base_rates}: {kind}" if counts is None else "--counts: "
        raise click.UsageError(f"{where}{words}") from error


def _stored_rates(path: Path) -> Mapping[str, float] | Sequence[float]:
    stored: Any = json.loads(path.read_text(encoding="utf-8"))
    rates = list(stored.values()) if isinstance(stored, dict) else stored
    if not isinstance(rates, list) or not rates or any(type(rate) not in (int, float) for rate in rates):
        raise ValueError("must hold at least one base rate: a list of numbers, or an object of them")
    probability("base_rates", rates)
    checked: Mapping[str, float] | Sequence[float] = stored
    return checked
