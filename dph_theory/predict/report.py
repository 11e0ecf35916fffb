"""The answer of `dph predict` in at most twenty lines of eighty columns, and the notes below its tables."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coverage import exact_pass_at_k, pass_at_k
from ..support.table import Table
from ..trainers.kl_terms import BASE_RATE, FILTERED, FORWARD_LIMIT, LOCAL
from . import MOST_OF_THE_WAY, REACHED, Prediction
from .configuration import NOWHERE, TRAP, UNGROUPED, Configuration
from .interpretation import READERS, needed, with_change
from .stored_runs import StoredRuns, advice, comparable, kind

if TYPE_CHECKING:
    from .shared_model import SharedModelForecast

WIDTH = 80
RETAINED: Mapping[str, str] = {
    FILTERED: "With a small beta it converges to correct answers in the base's proportions.",
    BASE_RATE: "It converges to correct answers in the base's proportions.",
    LOCAL: "With a small beta it converges to correct answers in the base's proportions, reweighted token "
    "by token.",
    FORWARD_LIMIT: "With a small beta it converges to all correct answers, not in the base's proportions.",
    NOWHERE: "No KL retains correct answers: sampling noise decides which one stays.",
}
"""What correct answers retain among themselves, by what training converges to."""
_ORDER = (NOWHERE, FORWARD_LIMIT, LOCAL, FILTERED)
"""From what retains least to what retains most."""


def better(
    settings: Mapping[str, Any], trainer: str, configuration: Configuration, version: str | None
) -> dict[str, Any]:
    """The fewest settings that retain correct answers' proportions better; none if the trainer has none."""

    def rank(change: Mapping[str, Any]) -> int:
        changed = with_change(settings, change, trainer, version)
        if changed is None or TRAP in changed.warnings or changed.selects not in _ORDER:
            return -1
        reason = changed.unpredicted
        predicted = reason in ("", configuration.unpredicted) or reason.startswith(UNGROUPED)
        return _ORDER.index(changed.selects) if predicted else -1

    start = _ORDER.index(configuration.selects) if configuration.selects in _ORDER else 0
    change = next((change for change in READERS[trainer].better if rank(change) > start), {})
    reached = rank(change)
    return needed(change, lambda fewer: rank(fewer) == reached)


def pasted(change: Mapping[str, Any]) -> list[str]:
    """Settings as a trainer takes them: a line of YAML each, or flags and NAME=VALUE on one command line."""
    assignments = []
    for name, value in change.items():
        text = f"{value:g}" if isinstance(value, float) else str(value)
        text = text.lower() if isinstance(value, bool) else text
        if "." in name:
            assignments.append(f"{name}={text}")
        elif "-" in name:
            assignments.append(f"--{name}" if value is True else f"--{name} {text}")
        else:
            assignments.append(f"{name}: {text}")
    if any("." in name or "-" in name for name in change):
        return textwrap.wrap(" ".join(assignments), WIDTH - 2, break_on_hyphens=False, break_long_words=False)
    return assignments


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
    """What is said of settings: the configuration, prompts alone, the base, and one model's forecast.

    `better`: settings that retain correct answers' proportions; `retained`: those that stored runs retained
    most with, and these runs.
    """

    configuration: Configuration
    prediction: Prediction | None
    base: Base | None
    k: int
    step: float | None = None
    steps: int | None = None
    forecast: "SharedModelForecast | None" = None
    better: Mapping[str, Any] = field(default_factory=dict)
    retained: tuple[Mapping[str, Any], StoredRuns] | None = None

    def advised(self, settings: Mapping[str, Any], trainer: str, version: str | None) -> "PredictionReport":
        """The report with its advice; none where no stationary policy is known."""
        if self.configuration.undecided:
            return self
        change = better(settings, trainer, self.configuration, version)
        stored = advice(settings, trainer, self.configuration, version) if self.forecast is None else None
        return replace(self, better=change, retained=stored)

    def to_dict(self) -> dict[str, Any]:
        """The configuration, and beside it the prediction and the forecast that there are."""
        prediction = None if self.prediction is None else {**self.prediction.to_dict(), "configuration": None}
        alone = {} if prediction is None else {"prediction": prediction}
        shared = {} if self.forecast is None else {"transfer": self.forecast.to_dict()}
        return self.configuration.to_dict() | alone | shared

    def lines(self, kernel: str | None, counts: Path | None) -> list[str]:
        """What training converges to, prompts alone and measured, or one model; advice; the next command."""
        run, prediction, base = self.configuration, self.prediction, self.base
        kl = run.stationary_kl.partition(";")[0].replace("none: no", "no").removeprefix("none: ")
        beta = f", coefficient {run.coefficient:g}" if run.coefficient else ""
        sentences = [f"{run.trainer} {run.version}{beta}: {kl}."]
        why = "" if base or kernel else "Give the base's counts (--counts) for pass rates."
        if base is not None and run.unpredicted:
            why = "" if run.unpredicted in run.stationary_kl else f"No pass rates: {run.unpredicted}."
        if run.undecided:
            return _wrapped([*sentences, why, "Next: give the missing values, as NAME=VALUE."])
        if self.forecast is not None and kernel is not None:
            sentences += self.forecast.lines(kernel)
        elif prediction is not None and base is not None:
            sentences += [ALONE, *_measured(run), *_rates(run, prediction, base, self.k, self.steps)]
            sentences.append(_when(prediction, self.step))
        if prediction is not None and base is not None and run.group_size is not None:
            sentences.append(_uniform_groups(run.group_size, prediction, base))
        sentences.append(RETAINED.get(run.selects, f"It converges to {run.selects}."))
        if run.moved_by:
            sentences.append(f"Changed by {', '.join(run.moved_by)}: how, with --all.")
        next_step = "dph transfer MODEL PROMPTS --to kernel.npz; then add --transfer kernel.npz"
        if kernel is not None:
            next_step = f"train, then dph confront {counts or 'BASE.jsonl'} RUN.jsonl (counts of both)"
        elif counts is None:
            next_step = "sample the base, count correct answers, and add --counts BASE.jsonl"
        return _wrapped([*sentences, *self._advice(), *_unread(run), why, f"Next: {next_step}"])

    def _advice(self) -> Iterator[str]:
        """What retained more of Pass@k, with its price, and what retains proportions."""
        if self.retained is not None:
            change, row = self.retained
            (_, had), (price, has) = row.held_out["base"], row.held_out["end"]
            yield f"To retain more ({row.model}: Pass@{row.k} {has:.3f} of {had:.3f}, Pass@1 {price:.3f}):"
            yield from (f"  {line}" for line in pasted(change))
        if self.better:
            title, lines = "To retain correct answers' proportions:", pasted(self.better)
            short = len(lines) == 1 and len(f"{title} {lines[0]}") <= WIDTH
            yield from [f"{title} {lines[0]}"] if short else [title, *(f"  {line}" for line in lines)]


def _unread(configuration: Configuration) -> Iterator[str]:
    """What nothing read, and what a default or another file decides."""
    if configuration.not_read:
        first, *further = configuration.not_read
        more = f" and {len(further)} more (--all)" if further else ""
        yield f"Not read, may change this: {first.partition(' (')[0]}{more}."
    for warning in configuration.warnings:
        if " is not set: " in warning or "not read" in warning:
            yield warning


ALONE = "Prompts share weights. If they did not, Pass@k could not fall; measured:"


def _wrapped(sentences: Sequence[str]) -> list[str]:
    return [line for sentence in sentences for line in textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")]


def _measured(configuration: Configuration) -> Iterator[str]:
    """Pass@k of comparable stored runs at both ends."""
    for row in comparable(configuration):
        trained = f" held out, {_ends(row.trained)} trained" if row.trained else ""
        yield f"  {row.model}, {row.words}: Pass@{row.k} {_ends(row.held_out)}{trained}"
    if kind(configuration) is None:
        yield "  With a KL as this one: not measured."


def _ends(side: Mapping[str, Sequence[float]]) -> str:
    return f"{side['base'][1]:.3f} -> {side['end'][1]:.3f}"


def _rates(
    configuration: Configuration, prediction: Prediction, base: Base, k: int, steps: int | None
) -> Iterator[str]:
    """Pass@1 and Pass@k now, after the steps, and at the end, in columns; alone the latter cannot fall."""
    truncated = any(text.partition("=")[0] in ("top_p", "top_k", "min_p") for text in configuration.moved_by)
    end = "in the end, as sampled" if truncated else "in the end"
    heads = ["base now", f"after {steps} steps", end] if steps else ["base now", end]
    yield _row("", heads)
    now, later = prediction.mean_base_rate, [prediction.mean_validity]
    on_the_way = [prompt.on_the_way for prompt in prediction.prompts if prompt.on_the_way is not None]
    if on_the_way:
        later.insert(0, float(np.mean(on_the_way)))
    yield _row("Pass@1", [f"{now:.4f}", *(shown(rate, now) for rate in later)])
    passed = base.pass_at(k)
    if k > 1 and passed is not None:
        yield _row(f"Pass@{k}", [f"{passed:.4f}", *("no less, alone" for _ in heads[1:])])
    elif k > 1 and base.n is not None:
        least = base.n.min()
        yield f"Pass@{k} needs {k} answers a prompt: the fewest here are {least} (--k {least})."
    unseen = sum(prompt.base_rate == 0 for prompt in prediction.prompts)
    if unseen:
        yield f"{unseen} prompts had no correct answer: counted as they are, their rate not known."


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:8}" + "".join(f"{cell:>23}" for cell in cells)


def _uniform_groups(size: int, prediction: Prediction, base: Base) -> str:
    """The share of groups without a signal, now and at the end."""
    now = base.uniform_share(size)
    end = uniform_share(np.array([prompt.validity for prompt in prediction.prompts]), size).mean()
    begins = "" if now is None else f"{now:.0%} now, "
    return f"Groups of {size} alike, so without a gradient: {begins}{end:.0%} in the end."


def shown(rate: float, base_rate: float = 0.0) -> str:
    """A pass rate; four digits do not round it up to 1."""
    return "> 0.9999" if rate > 0.99995 and base_rate < 1 else f"{rate:.4f}"


def _when(prediction: Prediction, step: float | None) -> str:
    """After how many steps the prompts are near their ends."""
    if step is None:
        return ""  # No step's size, no count of steps.
    times = [prompt.time for prompt in prediction.prompts if prompt.time is not None]
    if not times:
        stay = all(prompt.validity == prompt.base_rate for prompt in prediction.prompts)
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
        "base": [f"{prompt.base_rate:.4f}" for prompt in firsts],
    }
    if any(prompt.on_the_way is not None for prompt in firsts):
        columns["by then"] = [shown(prompt.on_the_way or 0.0, prompt.base_rate) for prompt in firsts]
    columns["the end"] = [shown(prompt.validity, prompt.base_rate) for prompt in firsts]
    if any(prompt.other_validities for prompt in firsts):
        columns["also stable"] = [", ".join(map(shown, prompt.other_validities)) or "-" for prompt in firsts]
    if any(prompt.deviation is not None for prompt in firsts):
        columns["noise"] = ["-" if p.deviation is None else f"{p.deviation:.4f}" for p in firsts]
    return Table.from_rows([*columns], zip(*columns.values(), strict=True))


def notes(configuration: Configuration, prediction: Prediction | None) -> list[str]:
    """What the tables do not say of themselves."""
    sentences = []
    prompts = () if prediction is None else prediction.prompts
    if any(prompt.other_validities for prompt in prompts):
        sentences.append("Where several pass rates are stable, the run's start decides which it reaches.")
    if prediction is not None and configuration.coefficient and not prediction.equivalent:
        sentences.append("No equivalent betas: this mean is too near 1 to distinguish them.")
    deviations = [prompt.deviation for prompt in prompts if prompt.deviation is not None]
    if deviations:
        from ..finite_training import saturation

        sentences.append(
            "noise: the std over seeds of the log-odds of two equally likely correct answers, by then or "
            f"at a pass rate of {REACHED:g}."
        )
        most = max(float(saturation(deviation)) for deviation in deviations)
        if most > 0.05:
            excess = f"{most:.0%} too large"
            sentences.append(f"The noise is not small: these first-order numbers may be {excess}.")
    if not configuration.coefficient and prediction is not None:
        sentences.append(
            "Without noise every prompt that is ever solved tends to 1. The likeliest correct answer takes "
            "all where one token makes an answer; where answers share tokens another may."
        )
    if configuration.updates is None or configuration.updates > 1:
        sentences.append(
            "Several updates on a batch change noise and speed, not what the run converges to: the "
            "steps given are of one update each."
        )
    stay = sum(prompt.base_rate in (0.0, 1.0) for prompt in prompts)
    if stay:
        sentences.append(
            f"{stay} prompts had only incorrect or only correct answers: what becomes of them is not known."
        )
    return [textwrap.fill(sentence, WIDTH) for sentence in sentences]
