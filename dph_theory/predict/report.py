"""The answer of `dph predict`: what the run will do to Pass@k first, the next command last."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coverage import exact_pass_at_k, pass_at_k
from ..losses.objective import UNDIVIDED, Objective
from ..support.table import Table
from .configuration import Configuration
from .prediction import MOST_OF_THE_WAY, Prediction
from .settings import flag
from .stored_runs import StoredRuns, expectation, setting_rows

if TYPE_CHECKING:
    from .shared_model import SharedModelForecast

WIDTH, _SETTINGS = 80, 50
"""Columns of all that is printed, and of settings to paste."""


@dataclass(frozen=True)
class Base:
    """The base's pass rates, a list or by prompt, and the counts that they are from, where there are any."""

    rates: Mapping[str, float] | Sequence[float]
    n: np.ndarray | None = None
    c: np.ndarray | None = None

    @property
    def _pass_rates(self) -> np.ndarray:
        return np.array([*self.rates.values()] if isinstance(self.rates, Mapping) else self.rates, float)

    def pass_at(self, k: int) -> float | None:
        """Pass@k, unbiased of counts; None where a prompt has fewer answers than k."""
        if self.n is None or self.c is None:
            return float(np.mean(exact_pass_at_k(self._pass_rates, k)))
        return None if k > self.n.min() else float(pass_at_k(self.n, self.c, k).mean())

    def uniform_share(self, group: int) -> float | None:
        """The share of groups all correct or all incorrect, unbiased of counts; None where n is too small."""
        if self.n is None or self.c is None:
            return float(np.mean(uniform_share(self._pass_rates, group)))
        if group > self.n.min():
            return None
        # All incorrect: no correct answer among so many; all correct alike.
        some_correct, some_incorrect = (pass_at_k(self.n, c, group) for c in (self.c, self.n - self.c))
        return float(np.mean(2 - (some_correct + some_incorrect)))


def uniform_share(rates: np.ndarray, group: int) -> np.ndarray:
    """V^G + (1-V)^G: how often a prompt's group of G answers is all correct or all incorrect."""
    return np.asarray(rates**group + (1 - rates) ** group)


@dataclass(frozen=True)
class PredictionReport:
    """What is said of settings: the configuration, prompts by themselves, the base, and one model's forecast.

    `retained`: the settings that stored runs retained more with, and these runs; `source`: what of a file.
    """

    configuration: Configuration
    prediction: Prediction | None
    base: Base | None
    k: int
    step: float | None = None
    steps: int | None = None
    forecast: "SharedModelForecast | None" = None
    retained: tuple[Mapping[str, Any], StoredRuns] | None = None
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The configuration, what stored runs lead to expect, and the prediction and forecast if any."""
        prediction = None if self.prediction is None else {**self.prediction.to_dict(), "configuration": None}
        alone = {} if prediction is None else {"prediction": prediction}
        shared = {} if self.forecast is None else {"transfer": self.forecast.to_dict()}
        expected = {"expected": asdict(expectation(self.configuration))}
        return self.configuration.to_dict() | expected | alone | shared

    def lines(self, next_command: str, kernel: str = "") -> list[str]:
        """What becomes of Pass@k; the KL; prompts by themselves; what retained more; what was not read."""
        run, expected = self.configuration, expectation(self.configuration)
        sentences = [*(self.forecast.lines(kernel) if self.forecast else expected.lines(run))]
        if not run.objective.undecided:
            sentences += [*_objective(run, strategies=self.forecast is None), *self._rates()]
            if self.retained is not None and expected.nearest:
                sentences += _retained(expected.nearest[0], *self.retained)
            sentences += _unread(run)
        elif expected.course:
            sentences.append(f"Not decided: {'; '.join(run.objective.undecided)}.")
        if self.source:
            sentences.append(f"Read: {self.source}.")
        after = "dph transfer --help  # measures your prompts; then add --transfer"
        if self.forecast:
            after = "dph compare --help  # once trained: what changed, by counts of both"
        lines = [line for text in sentences for line in textwrap.wrap(text, WIDTH, subsequent_indent="  ")]
        return [*lines, f"Next: {next_command or after}"]

    def _rates(self) -> Iterator[str]:
        """Pass rates of prompts by themselves, and how many groups have no signal, or why there are none."""
        run, prediction, base = self.configuration, self.prediction, self.base
        if base is not None and prediction is None and run.objective.unpredicted != expectation(run).reason:
            yield f"No pass rates: {run.objective.unpredicted}."
        if base is None or prediction is None:
            return
        heads = ["base now", *([f"after {self.steps} steps"] if self.steps else []), "in the end"]
        yield _row("each prompt by itself", heads)
        now, later = prediction.mean_base_rate, [prediction.mean_pass_rate]
        on_the_way = [prompt.on_the_way for prompt in prediction.prompts if prompt.on_the_way is not None]
        if on_the_way:
            later.insert(0, float(np.mean(on_the_way)))
        truncated = any(text.partition("=")[0] in ("top_p", "top_k", "min_p") for text in run.moved_by)
        cells = [f"{now:.3f}", *(shown(rate, now) for rate in later)]
        yield _row("Pass@1, as sampled" if truncated else "Pass@1", cells)
        passed = base.pass_at(self.k)
        if self.k > 1 and passed is not None:
            yield _row(f"Pass@{self.k}", [f"{passed:.3f}", *("not less" for _ in heads[1:])])
        elif self.k > 1 and base.n is not None:
            least = base.n.min()
            yield f"Pass@{self.k} needs {self.k} answers a prompt: the fewest here are {least} (--k {least})."
        yield "Left out: what training on one prompt does to another, by which Pass@k falls."
        yield _when(prediction, self.step)
        if run.objective.group_size is not None:
            yield _uniform_groups(run, prediction, base)


def _objective(run: Configuration, *, strategies: bool) -> Iterator[str]:
    """The KL and its coefficient; without one, which strategies stay; settings that change the end."""
    kl, objective = run.stationary_kl.partition(";")[0], run.objective
    coefficient = f", coefficient {objective.coefficient:g}" if objective.coefficient else ""
    end = "" if coefficient or not strategies else _strategies(objective)
    if kl != "not known":
        yield f"{run.trainer} {run.version}: {end or kl.replace('none: no', 'no') + coefficient}."
    if run.rehearsal is not None:
        yield f"{run.rehearsal.words[0].upper()}{run.rehearsal.words[1:]}."
    if run.moved_by:
        yield f"Changed by {', '.join(run.moved_by)}: how, with --all."


def _strategies(objective: Objective) -> str:
    """What stays without a KL, by what the advantage is divided by. Source: ours, entries `retention`."""
    from ..transfer.retention import group_weighting

    size, scale = objective.group_size, objective.advantage.scale
    if scale is None or objective.mixed_only or (size is None and scale not in UNDIVIDED):
        return ""
    weighting = group_weighting(size or 2, scale)
    rarest, commonest = weighting.weight(np.array([0.0, weighting.falls_until]))
    ratio = rarest / commonest
    if ratio <= 1:
        return "without a KL, sampling noise decides which correct answer stays"
    divisor = "mean" if scale == "mean" else "std"
    return (
        f"without a KL, dividing by the {divisor} (groups of {size}) retains two strategies for different "
        f"prompts only if neither solves {ratio:.3g} times as many"
    )


def _retained(nearest: StoredRuns, change: Mapping[str, Any], row: StoredRuns) -> list[str]:
    """The settings that retained more than the nearest stored runs, with the price."""
    *settings, last = pasted(change)
    outcomes = ((name, runs.ends[1], (runs.trained or runs.held_out)["end"][0])
                for name, runs in ((nearest.setting, nearest), (last, row)))  # fmt: skip
    head, first, better = setting_rows(f"held-out Pass@{row.k}", outcomes)
    return [head, first, *settings, better]


def pasted(change: Mapping[str, Any]) -> list[str]:
    """Settings as a command takes them, NAME=VALUE or flags, in short lines."""
    assignments = []
    for name, value in change.items():
        text = f"{value:g}" if isinstance(value, float) else str(value)
        text = text.lower() if isinstance(value, bool) else text
        option = flag(name)
        valued = f"{name}={text}" if option == name else f"{option} {text}"
        assignments.append(option if option != name and value is True else valued)
    return textwrap.wrap(" ".join(assignments), _SETTINGS, break_on_hyphens=False, break_long_words=False)


def _unread(configuration: Configuration) -> Iterator[str]:
    """What nothing read, and what a default or another file decides."""
    if configuration.not_read:
        first, *further = configuration.not_read
        more = f" and {len(further)} more (--all)" if further else ""
        yield f"Not read, may change this: {first.partition(' (')[0]}{more}."
    for warning in configuration.warnings:
        if " is not set: " in warning or "not read" in warning:
            yield warning


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:22}" + "".join(f"{cell:>19}" for cell in cells)


def _uniform_groups(run: Configuration, prediction: Prediction, base: Base) -> str:
    """The share of groups whose rewards are equal, now and at the end, and what gradient these have."""
    size, gradient = run.objective.group_size or 1, "no gradient"
    if run.objective.coefficient:
        gradient = "left out" if run.objective.mixed_only else "the KL acts alone"
    now = base.uniform_share(size)
    end = uniform_share(np.array([prompt.pass_rate for prompt in prediction.prompts]), size).mean()
    begins = "" if now is None else f"{now:.3f} now, "
    return f"Groups of {size} with equal rewards ({gradient}): {begins}{end:.3f} in the end."


def shown(rate: float, base_rate: float = 0.0) -> str:
    """A pass rate; three digits do not round it up to 1."""
    return "> 0.999" if rate > 0.9995 and base_rate < 1 else f"{rate:.3f}"


def _when(prediction: Prediction, step: float | None) -> str:
    """After how many steps the prompts are near their ends."""
    if step is None:
        return ""  # No step's size, no count of steps.
    times = [prompt.time for prompt in prediction.prompts if prompt.time is not None]
    if not times:
        stay = all(prompt.pass_rate == prompt.base_rate for prompt in prediction.prompts)
        return "No prompt moves." if stay else ""
    middle, last = float(np.median(times)), max(times)
    half, most = (f"{n:,.0f}" if n >= 100 else f"{n:.3g}" for n in (middle / step, last / step))
    return f"{MOST_OF_THE_WAY:.0%} there: half the prompts after {half}, all after {most} steps."


def by_prompt(prediction: Prediction) -> Table:
    """Each prompt's pass rates, the same ones in one row."""
    base_rate = attrgetter("base_rate")
    groups = [list(prompts) for _, prompts in groupby(sorted(prediction.prompts, key=base_rate), base_rate)]
    firsts = [prompts[0] for prompts in groups]
    columns = {
        "prompts": [f"{len(group)} prompts" if len(group) > 1 else group[0].id[:24] for group in groups],
        "base": [f"{prompt.base_rate:.3f}" for prompt in firsts],
    }
    if any(prompt.on_the_way is not None for prompt in firsts):
        columns["by then"] = [shown(prompt.on_the_way or 0.0, prompt.base_rate) for prompt in firsts]
    columns["the end"] = [shown(prompt.pass_rate, prompt.base_rate) for prompt in firsts]
    if any(prompt.other_validities for prompt in firsts):
        columns["also stable"] = [", ".join(map(shown, prompt.other_validities)) or "-" for prompt in firsts]
    return Table.from_rows([*columns], zip(*columns.values(), strict=True))


def notes(configuration: Configuration, prediction: Prediction | None) -> list[str]:
    """What the tables do not say of themselves."""
    sentences = []
    prompts = () if prediction is None else prediction.prompts
    if any(prompt.other_validities for prompt in prompts):
        sentences.append("Where several pass rates are stable, the run's start decides which it reaches.")
    if not configuration.objective.coefficient and prediction is not None:
        sentences.append(
            "Without noise every prompt that is ever solved tends to 1. The likeliest correct answer takes "
            "all where one token makes an answer; where answers share tokens another may."
        )
    updates = configuration.objective.updates
    if updates is None or updates > 1:
        sentences.append(
            "Several updates on a batch change noise and speed, not what the run converges to: the "
            "steps given are of one update each."
        )
    stay = sum(prompt.base_rate in (0.0, 1.0) for prompt in prompts)
    if stay:
        sentences.append(
            f"{stay} prompts had only incorrect or only correct answers: what becomes of them is not known."
        )
    return sentences
