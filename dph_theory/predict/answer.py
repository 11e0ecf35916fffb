"""The answer of `dph predict` in at most twenty lines of eighty columns, and the notes below its tables."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coverage import exact_pass_at_k, pass_at_k
from ..support.table import Table
from ..trainers.kl_terms import BASE_RATE, FILTERED, FORWARD_LIMIT, LOCAL
from . import MOST_OF_THE_WAY, REACHED, Prediction, PromptPrediction
from .configuration import READERS, configuration_of
from .evidence import Measured, advice, comparable, kind
from .reading import NOWHERE, TRAP, UNGROUPED, Configuration

if TYPE_CHECKING:
    from .together import Forecast

WIDTH = 80
KEPT: Mapping[str, str] = {
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
    settings: Mapping[str, Any], trainer: str, found: Configuration, version: str | None
) -> dict[str, Any]:
    """The fewest settings that retain correct answers' proportions better; none if the trainer has none."""
    for change in READERS[trainer].better:
        asked = dict(change)

        def rank(of: Mapping[str, Any]) -> int:
            try:
                told = configuration_of({**settings, **of}, trainer, version=version)
            except ValueError:
                return -1
            known = told.unpredicted in ("", found.unpredicted) or told.unpredicted.startswith(UNGROUPED)
            lost = TRAP in told.warnings or not known
            return _ORDER.index(told.selects) if told.selects in _ORDER and not lost else -1

        start = _ORDER.index(found.selects) if found.selects in _ORDER else 0
        reached = rank(asked)
        if reached <= start:
            continue
        for name in change:
            without = {other: value for other, value in asked.items() if other != name}
            if rank(without) == reached:
                asked = without
        return asked
    return {}


def pasted(change: Mapping[str, Any]) -> list[str]:
    """Settings as a trainer takes them: a line of YAML each, or flags and NAME=VALUE on one command line."""
    found = []
    for name, value in change.items():
        word = (
            str(value).lower()
            if isinstance(value, bool)
            else f"{value:g}"
            if isinstance(value, float)
            else str(value)
        )
        if "." in name:
            found.append(f"{name}={word}")
        elif "-" in name:
            found.append(f"--{name}" if value is True else f"--{name} {word}")
        else:
            found.append(f"{name}: {word}")
    if any("." in name or "-" in name for name in change):
        return textwrap.wrap(" ".join(found), WIDTH - 2, break_on_hyphens=False, break_long_words=False)
    return found


@dataclass(frozen=True)
class Base:
    """The base's pass rates, a list or by prompt, and the counts that they are from, where there are any."""

    rates: Mapping[str, float] | Sequence[float]
    n: np.ndarray | None = None
    c: np.ndarray | None = None

    def pass_at(self, k: int) -> float | None:
        """Pass@k, unbiased of counts; None where a prompt has fewer answers than k."""
        if self.n is None or self.c is None:
            values = [*self.rates.values()] if isinstance(self.rates, Mapping) else self.rates
            return float(np.mean(exact_pass_at_k(np.array(values, float), k)))
        return None if k > self.n.min() else float(pass_at_k(self.n, self.c, k).mean())

    def dead(self, group: int) -> float | None:
        """The share of groups all correct or all incorrect, unbiased of counts; None where n is too small."""
        if self.n is None or self.c is None:
            values = [*self.rates.values()] if isinstance(self.rates, Mapping) else self.rates
            return float(np.mean(dead_share(np.array(values, float), group)))
        if group > self.n.min():
            return None
        # All incorrect: no correct answer among so many; all correct alike.
        alike = pass_at_k(self.n, self.c, group) + pass_at_k(self.n, self.n - self.c, group)
        return float(np.mean(2 - alike))


def dead_share(rates: np.ndarray, group: int) -> np.ndarray:
    """V^G + (1-V)^G: how often a prompt's group of G answers is all correct or all incorrect."""
    return np.asarray(rates**group + (1 - rates) ** group)


@dataclass(frozen=True)
class Answer:
    """What is said of settings: the configuration, prompts alone, the base, and one model's forecast.

    `better`: settings that retain correct answers' proportions; `retained`: those that stored runs retained
    most with, and these runs.
    """

    found: Configuration
    told: Prediction | None
    base: Base | None
    k: int
    step: float | None = None
    steps: int | None = None
    forecast: "Forecast | None" = None
    better: Mapping[str, Any] = field(default_factory=dict)
    retained: tuple[Mapping[str, Any], Measured] | None = None

    def advised(self, settings: Mapping[str, Any], trainer: str, version: str | None) -> "Answer":
        """The answer with its advice; none where no stationary policy is known."""
        if self.found.undecided:
            return self
        kept = better(settings, trainer, self.found, version)
        stored = advice(settings, trainer, self.found, version) if self.forecast is None else None
        return replace(self, better=kept, retained=stored)

    def to_dict(self) -> dict[str, Any]:
        """The configuration, and beside it the prediction and the forecast that there are."""
        alone = {} if self.told is None else {"prediction": {**self.told.to_dict(), "configuration": None}}
        shared = {} if self.forecast is None else {"transfer": self.forecast.to_dict()}
        return self.found.to_dict() | alone | shared

    def lines(self, kernel: str | None, counts: Path | None) -> list[str]:
        """What training converges to, prompts alone and measured, or one model; advice; the next command."""
        found, told, base = self.found, self.told, self.base
        law = found.law.partition(";")[0].replace("none: no", "no").removeprefix("none: ")
        beta = f", coefficient {found.coefficient:g}" if found.coefficient else ""
        said = [f"{found.trainer} {found.version}{beta}: {law}."]
        why = "" if base or kernel else "Give the base's counts (--counts) for pass rates."
        if base is not None and found.unpredicted:
            why = "" if found.unpredicted in found.law else f"No pass rates: {found.unpredicted}."
        if found.undecided:
            return _wrapped([*said, why, "Next: give the missing values, as NAME=VALUE."])
        if self.forecast is not None and kernel is not None:
            said += self.forecast.lines(kernel)
        elif told is not None and base is not None:
            said += [ALONE, *_measured(found), *_rates(found, told, base, self.k, self.steps)]
            said.append(_when(told, self.step))
        if told is not None:
            said.append(_dead(found, told, base))
        said.append(KEPT.get(found.selects, f"It converges to {found.selects}."))
        if found.moved_by:
            said.append(f"Changed by {', '.join(found.moved_by)}: how, with --all.")
        said += [*self._advice(), *_beside(found), why]
        if kernel is not None:
            said.append(f"Next: train, then dph confront {counts or 'BASE.jsonl'} RUN.jsonl (counts of both)")
        elif counts is None:
            said.append("Next: sample the base, count correct answers, and add --counts BASE.jsonl")
        else:
            said.append("Next: dph transfer MODEL PROMPTS --to kernel.npz; then add --transfer kernel.npz")
        return _wrapped(said)

    def _advice(self) -> Iterator[str]:
        """What retained more of Pass@k, with its price, and what retains proportions."""
        if self.retained is not None:
            change, row = self.retained
            (_, had), (price, has) = row.held_out["base"], row.held_out["end"]
            yield f"To retain more ({row.model}: Pass@{row.k} {has:.3f} of {had:.3f}, Pass@1 {price:.3f}):"
            yield from (f"  {line}" for line in pasted(change))
        if self.better:
            head, (first, *more) = "To retain correct answers' proportions:", pasted(self.better)
            short = not more and len(f"{head} {first}") <= WIDTH
            yield from [f"{head} {first}"] if short else [head, *(f"  {line}" for line in (first, *more))]


def _beside(found: Configuration) -> Iterator[str]:
    """What nothing read, and what a default or another file decides."""
    if found.not_read:
        first, *others = found.not_read
        more = f" and {len(others)} more (--all)" if others else ""
        yield f"Not read, may change this: {first.partition(' (')[0]}{more}."
    yield from (each for each in found.warnings if " is not set: " in each or "not read" in each)


ALONE = "Prompts share weights. If they did not, Pass@k could not fall; measured:"


def _wrapped(said: Sequence[str]) -> list[str]:
    return [line for each in said for line in textwrap.wrap(each, WIDTH, subsequent_indent="  ")]


def _measured(found: Configuration) -> list[str]:
    """Pass@k of comparable stored runs at both ends."""
    said = []
    for row in comparable(found):
        ends = f"{row.words}: Pass@{row.k} {_ends(row.held_out)}"
        said.append(
            f"  {row.model}, {ends}" + (f" held out, {_ends(row.trained)} trained" if row.trained else "")
        )
    return said if kind(found) is not None else [*said, "  With a KL as this one: not measured."]


def _ends(side: Mapping[str, Sequence[float]]) -> str:
    return f"{side['base'][1]:.3f} -> {side['end'][1]:.3f}"


def _rates(found: Configuration, told: Prediction, base: Base, k: int, steps: int | None) -> list[str]:
    """Pass@1 and Pass@k now, after the steps, and at the end, in columns; alone the latter cannot fall."""
    cut = any(each.partition("=")[0] in ("top_p", "top_k", "min_p") for each in found.moved_by)
    end = "in the end, as sampled" if cut else "in the end"
    heads = ["base now", f"after {steps} steps", end] if steps else ["base now", end]
    rows = ["        " + "".join(f"{head:>23}" for head in heads)]
    now, way, last = told.pass_at(1)
    cells = [f"{now:.4f}", *([shown(way, now)] if way is not None else []), shown(last, now)]
    rows.append(f"{'Pass@1':8}" + "".join(f"{cell:>23}" for cell in cells))
    passed = base.pass_at(k)
    if k > 1 and passed is not None:
        cells = [f"{passed:.4f}", *("no less, alone" for _ in heads[1:])]
        rows.append(f"{f'Pass@{k}':8}" + "".join(f"{cell:>23}" for cell in cells))
    elif k > 1 and base.n is not None:
        rows.append(
            f"Pass@{k} needs {k} answers a prompt: the fewest here are {base.n.min()} (--k {base.n.min()})."
        )
    unseen = sum(prompt.base_rate == 0 for prompt in told.prompts)
    if unseen:
        rows.append(f"{unseen} prompts had no correct answer: counted as they are, their rate not known.")
    return rows


def _dead(found: Configuration, told: Prediction | None, base: Base | None) -> str:
    """The share of groups without a signal, now and at the end."""
    if found.group_size is None or told is None or base is None:
        return ""
    now = base.dead(found.group_size)
    end = float(np.mean(dead_share(np.array([p.validity for p in told.prompts]), found.group_size)))
    begins = "" if now is None else f"{now:.0%} now, "
    return f"Groups of {found.group_size} alike, so without a gradient: {begins}{end:.0%} in the end."


def shown(rate: float, base_rate: float = 0.0) -> str:
    """A pass rate; four digits do not round it up to 1."""
    return "> 0.9999" if rate > 0.99995 and base_rate < 1 else f"{rate:.4f}"


def _when(told: Prediction, step: float | None) -> str:
    """After how many steps the prompts are near their ends."""
    if step is None:
        return ""  # No step's size, no count of steps.
    times = [prompt.time for prompt in told.prompts if prompt.time is not None]
    if not times:
        return "No prompt moves." if all(p.validity == p.base_rate for p in told.prompts) else ""
    middle, last = float(np.median(times)), max(times)
    half, most = (f"{n:,.0f}" if n >= 100 else f"{n:.3g}" for n in (middle / step, last / step))
    return f"{MOST_OF_THE_WAY:.0%} there: half the prompts after {half}, all after {most} steps."


def by_prompt(told: Prediction) -> Table:
    """Each prompt's pass rates, the same ones in one row."""
    alike = {rate: list(held) for rate, held in groupby(sorted(told.prompts, key=_rate), key=_rate)}
    ways, several, noise = (
        any(getattr(prompt, of) not in (None, ()) for prompt in told.prompts)
        for of in ("on_the_way", "others", "deviation")
    )
    columns = {"prompts": True, "base": True, "by then": ways, "the end": True}
    columns |= {"also stable": several, "noise": noise}
    rows = []
    for rate, held in alike.items():
        prompt = held[0]
        cells = (
            f"{len(held)} prompts" if len(held) > 1 else prompt.id[:24],
            f"{rate:.4f}",
            shown(prompt.on_the_way or 0.0, rate),
            shown(prompt.validity, rate),
            ", ".join(map(shown, prompt.others)) or "-",
            "-" if prompt.deviation is None else f"{prompt.deviation:.4f}",
        )
        rows.append([cell for cell, there in zip(cells, columns.values(), strict=True) if there])
    return Table.of([name for name, there in columns.items() if there], rows)


def _rate(prompt: PromptPrediction) -> float:
    return prompt.base_rate


def notes(found: Configuration, told: Prediction | None) -> list[str]:
    """What the tables do not say of themselves."""
    said = []
    if told is not None and any(prompt.others for prompt in told.prompts):
        said.append("Where several pass rates are stable, the run's start decides which it reaches.")
    if told is not None and found.coefficient and not told.equivalent:
        said.append("No equivalent betas: this mean is too near 1 to distinguish them.")
    luck = [] if told is None else [each.deviation for each in told.prompts if each.deviation is not None]
    if luck:
        from ..finite_training import saturation

        said.append(
            "noise: the std over seeds of the log-odds of two equally likely correct answers, by then or "
            f"at a pass rate of {REACHED:g}."
        )
        most = max(float(saturation(each)) for each in luck)
        if most > 0.05:
            said.append(f"The noise is not small: these first-order numbers may be {most:.0%} too large.")
    if not found.coefficient and told is not None:
        said.append(
            "Without noise every prompt that is ever solved tends to 1. The likeliest correct answer takes "
            "all where one token makes an answer; where answers share tokens another may."
        )
    if found.updates is None or found.updates > 1:
        said.append(
            "Several updates on a batch change noise and speed, not what the run converges to: the "
            "steps given are of one update each."
        )
    stay = 0 if told is None else sum(prompt.base_rate in (0.0, 1.0) for prompt in told.prompts)
    if stay:
        said.append(
            f"{stay} prompts had only incorrect or only correct answers: what becomes of them is not known."
        )
    return [textwrap.fill(each, WIDTH) for each in said]
