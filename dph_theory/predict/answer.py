"""The answer of `dph predict` in at most ten lines of eighty columns, and the notes below its tables."""

import textwrap
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import numpy as np

from ..methods.kl_terms import BASE_RATE, FILTERED, FORWARD_LIMIT, LOCAL
from ..support.table import Table
from . import NEAR, REACHED, Prediction, PromptPrediction
from .configuration import READERS, configuration_of
from .reading import NOWHERE, TRAP, UNGROUPED, Configuration

WIDTH = 80
KEPT: Mapping[str, str] = {
    FILTERED: "all right answers, in the base's proportions.",
    BASE_RATE: "all right answers, in the base's proportions.",
    LOCAL: "all right answers, reweighted token by token.",
    FORWARD_LIMIT: "all right answers, not in the base's proportions.",
    NOWHERE: "nothing is held: training and luck decide which right answers stay.",
}
"""What is kept of the right answers, by where training ends."""
_ORDER = (NOWHERE, FORWARD_LIMIT, LOCAL, FILTERED)
"""From what keeps least to what keeps most."""


def better(
    settings: Mapping[str, Any], trainer: str, found: Configuration, version: str | None
) -> dict[str, Any]:
    """The fewest settings that would keep more of the right answers; none where the trainer has none."""
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
        word = str(value).lower() if isinstance(value, bool) else str(value)
        if "." in name:
            found.append(f"{name}={word}")
        elif "-" in name:
            found.append(f"--{name}" if value is True else f"--{name} {word}")
        else:
            found.append(f"{name}: {word}")
    if any("." in name or "-" in name for name in change):
        return textwrap.wrap(" ".join(found), WIDTH - 2, break_on_hyphens=False, break_long_words=False)
    return found


def lines(
    found: Configuration,
    told: Prediction | None,
    *,
    k: int,
    step: float | None,
    steps: int | None,
    better: Mapping[str, Any],
    why: str,
) -> list[str]:
    """The answer: the law, Pass@1 and Pass@k, when, what is kept, the change that keeps more."""
    law = found.law.partition(";")[0].replace("none: nothing", "no KL: nothing").removeprefix("none: ")
    held = f", coefficient {found.coefficient:g}" * bool(found.coefficient)
    said = [f"{found.trainer} {found.version}{held}: {law}."]
    if told is not None:
        said += [*_rates(told, k, steps), _when(told, step)]
    said.append(f"With a small beta, kept: {KEPT.get(found.selects, f'{found.selects}.')}")
    if found.selects == NOWHERE:
        said[-1] = f"Kept: {KEPT[NOWHERE]}"
    if found.moved_by:
        said.append(f"Moved by {', '.join(found.moved_by)}: see what sampling does, below.")
    if better:
        said += ["To keep more:", *(f"  {line}" for line in pasted(better))]
    if found.not_read:
        name, _, value = found.not_read[0].partition(" (")[0].partition("=")
        more = f" and {len(found.not_read) - 1} more, below" * (len(found.not_read) > 1)
        said.append(f"Not read, may change this: {name.rpartition('.')[2]}={value}{more}.")
    return [line for each in (*said, why) for line in textwrap.wrap(each, WIDTH, subsequent_indent="  ")]


def _rates(told: Prediction, k: int, steps: int | None) -> list[str]:
    """Pass@1 and Pass@k now, after the steps, and at the end, in columns."""
    heads = ["base now", *([f"after {steps} steps"] if steps else []), "in the end"]
    rows = [" " * 8 + "".join(f"{head:>20}" for head in heads)]
    for each in dict.fromkeys((1, k)):
        base, way, end = told.pass_at(each)
        cells = [f"{base:.4f}", *([shown(way, base)] if way is not None else []), shown(end, base)]
        rows.append(f"{f'Pass@{each}':8}" + "".join(f"{cell:>20}" for cell in cells))
    return rows


def shown(rate: float, base_rate: float = 0.0) -> str:
    """A pass rate; four digits do not round it up to 1."""
    return "> 0.9999" if rate > 0.99995 and base_rate < 1 else f"{rate:.4f}"


def _when(told: Prediction, step: float | None) -> str:
    """After how many steps the prompts are near their ends."""
    times = [prompt.time for prompt in told.prompts if prompt.time is not None]
    if not times:
        return "No prompt moves." if all(p.validity == p.base_rate for p in told.prompts) else ""
    middle, last = float(np.median(times)), max(times)
    half, most = (f"{n:,.0f}" if n >= 100 else f"{n:.3g}" for n in (middle / (step or 1), last / (step or 1)))
    size = " (--step 1)" * (step is None)
    return f"{NEAR:.0%} there: half the prompts after {half}, all after {most} steps{size}."


def by_prompt(told: Prediction) -> Table:
    """Each prompt's pass rates, the same ones in one row."""
    alike = {rate: list(held) for rate, held in groupby(sorted(told.prompts, key=_rate), key=_rate)}
    ways, several, luck = (
        any(getattr(prompt, of) not in (None, ()) for prompt in told.prompts)
        for of in ("on_the_way", "others", "deviation")
    )
    rows = []
    for rate, held in alike.items():
        prompt = held[0]
        cells = [f"{len(held)} prompts" if len(held) > 1 else prompt.id[:24], f"{rate:.4f}"]
        cells += [shown(prompt.on_the_way or 0.0, rate)] * ways
        cells.append(shown(prompt.validity, rate))
        cells += [", ".join(map(shown, prompt.others)) or "-"] * several
        cells += ["-" if prompt.deviation is None else f"{prompt.deviation:.4f}"] * luck
        rows.append(cells)
    head = ["prompts", "base", *["by then"] * ways, "the end", *["also stable"] * several, *["luck"] * luck]
    return Table.of(head, rows)


def _rate(prompt: PromptPrediction) -> float:
    return prompt.base_rate


def notes(found: Configuration, told: Prediction | None) -> list[str]:
    """What the tables do not say of themselves."""
    said = []
    if told is not None and any(prompt.others for prompt in told.prompts):
        said.append("Where several pass rates are stable, the run's start decides which it reaches.")
    if told is not None and found.coefficient and not told.equivalent:
        said.append("No equivalent betas: this mean is too near 1 to tell them apart.")
    luck = [] if told is None else [each.deviation for each in told.prompts if each.deviation is not None]
    if luck:
        from ..dynamics import saturation

        said.append(
            "luck: the deviation over seeds of the log ratio of two equally likely right answers, by then or "
            f"at a pass rate of {REACHED:g}."
        )
        most = max(float(saturation(each)) for each in luck)
        if most > 0.05:
            said.append(f"The noise is not small: these first-order numbers may be {most:.0%} too large.")
    if not found.coefficient and told is not None:
        said.append(
            "Without noise every prompt that is ever solved tends to 1. The likeliest right answer takes all "
            "where one decision makes an answer; where answers share tokens another may (theory A2)."
        )
    if found.updates is None or found.updates > 1:
        said.append(
            "Several updates on a batch leave the law as it is (theory G7) and change noise and time: the "
            "steps told are of one update each."
        )
    stay = 0 if told is None else sum(prompt.base_rate in (0.0, 1.0) for prompt in told.prompts)
    if stay:
        said.append(
            f"{stay} prompts have only wrong or only right answers, and stay: nothing trains on them."
        )
    return [textwrap.fill(each, WIDTH) for each in said]
