"""Summaries, sentences and tables of the styles experiment's stored rows."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from dph_theory.intervals import Estimate, mean_interval, probability_interval
from dph_theory.meter import Warnings, lead_time
from dph_theory.support.record import checked
from dph_theory.support.table import Table

KIND = "toy.styles"
Split: TypeAlias = Literal["train", "held_out"]

FALL = 0.05  # Drop of Pass@16 on training prompts from its maximum that counts as a fall.
RISES = (0.1, 0.25, 0.5)  # Rise of the excess KL, in nats, that counts as a warning.

_MEANS = {"style_entropy": "style entropy", "distinct_styles": "styles in 32", "excess": "excess KL"}
_COLUMNS: Mapping[Any, str] = {
    **{k: f"Pass@{k}" for k in (1, 16, 256)},
    **_MEANS,
    "retention": "retained",
    "exploration": "newly solved",
}


def models(results: Mapping[str, Any]) -> pd.DataFrame:
    """Data frame, one row per model and split, bases first: Pass@k in column k, `main` if compared."""
    bases = [base | {"label": "base", "name": "base", "groups": ["main"]} for base in results["bases"]]
    rows = []
    for model in [*bases, *results["runs"]]:
        for split in ("train", "held_out"):
            pass_at_k = dict(zip(results["k"], model[split]["pass_at_k"], strict=True))
            rows.append(model | {"split": split} | model[split] | pass_at_k)
    frame = pd.DataFrame(rows).drop(columns=["train", "held_out", "curve", "pass_at_k"])
    return frame.assign(main=["main" in groups for groups in frame.groups])


def scores(results: Mapping[str, Any], split: Split) -> dict[str, dict[Any, Estimate]]:
    """Means over seeds with 95% intervals by label, the base first, without values that no seed has.

    Pass@1, 16 and 256 under their k, style entropy, distinct styles, excess, retention and exploration; see
    `toy_lm.styles.evaluate.at_the_end`.
    """
    rows = models(results)
    rows = rows[rows.main & (rows.split == split)]
    table: dict[str, dict[Any, Estimate]] = {}
    for label, seeds in rows.groupby("label", sort=False):
        measured = {name: seeds[name].dropna().to_numpy() for name in _COLUMNS if name in seeds}
        table[str(label)] = {
            name: (mean_interval if name in _MEANS else probability_interval)(values)
            for name, values in measured.items()
            if len(values)
        }
    return table


def warnings(results: Mapping[str, Any]) -> list[Warnings]:
    """When the meter warns and when Pass@16 falls in each compared run, one entry per threshold of RISES."""
    runs = [run["curve"] for run in results["runs"] if "main" in run["groups"]]
    curves = [[np.array(run[name]) for name in ("update", "excess", "pass_at_16")] for run in runs]
    timed = partial(lead_time, fall=FALL)
    return [Warnings(rise, tuple(timed(*curve, rise=rise) for curve in curves)) for rise in RISES]


def findings(results: Mapping[str, Any]) -> list[str]:
    """Sentences about the most and the least retaining method, the gains of others, and the meter."""
    base, *methods = scores(results, "train").items()
    best, worst = (choose(methods, key=lambda m: m[1][16].value) for choose in (max, min))
    held_base, *held_out = (score[16].value for score in scores(results, "held_out").values())
    better = sum(passed > held_base for passed in held_out)
    meter = warnings(results)[1]
    fallen, stood = len(meter.fallen), len(meter.leads) - len(meter.fallen)
    return [
        f"Pass@1 and Pass@16 on training prompts, means over {len(results['bases'])} seed(s): "
        f"{_with_rates(*base)}; the method with the highest Pass@16 is {_with_rates(*best)}, the one with "
        f"the lowest {_with_rates(*worst)}.",
        f"On held-out prompts {better} of {len(held_out)} methods exceed the base's Pass@16 of "
        f"{held_base:.3f}.",
        f"A rise of the excess KL by {meter.rise:g} nats came before a fall of Pass@16 by {FALL:g} in "
        f"{meter.warned_before} of the {fallen} runs that fell, and in {meter.false_alarms} of the {stood} "
        "that did not.",
    ]


def _with_rates(label: str, score: Mapping[Any, Estimate]) -> str:
    return f"{label} ({score[1].value:.3f} and {score[16].value:.3f})"


def tables(record: Mapping[str, Any]) -> list[Table]:
    """The methods on training and on held-out prompts; ValueError for a record of another kind."""
    results = checked(record, KIND)["results"]
    return [_methods(results, "train", "training prompts"), _methods(results, "held_out", "held-out prompts")]


def _methods(results: Mapping[str, Any], split: Split, title: str) -> Table:
    shown: list[tuple[str, ...]] = []
    for label, score in scores(results, split).items():
        shown.append((label, *(_cell(score.get(name)) for name in _COLUMNS)))
    title = f"{title} (seeds: {len(results['bases'])}; in brackets 95% intervals)"
    return Table.from_rows(("", *_COLUMNS.values()), shown, title)


def _cell(score: Estimate | None) -> str:
    if score is None:
        return "-"
    interval = f" ({score.low:.3f}, {score.high:.3f})" if np.isfinite(score.low) else ""
    return f"{score.value:.3f}{interval}"
