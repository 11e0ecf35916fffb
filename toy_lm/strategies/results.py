"""Configuration and findings of the strategies experiment: values of a record, sentences and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
import pandas as pd
from pydantic import Field

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, FDivergence, alpha_divergence
from dph_theory.meter import LeadTime, Warnings
from dph_theory.support.errors import argument_error
from dph_theory.support.record import checked, from_json
from dph_theory.support.table import Table

from ..config import AtLeastTwo, Count, Filled, Positive, Rate, Rates, Strengths, check
from ..grid import Row
from .task import ALL, StrategiesTask, task
from .train import Optimiser, largest_strength

_Conditioning: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Counts: TypeAlias = Annotated[tuple[Count, ...], Filled]
_DRAWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_STRENGTHS = tuple(float(f"{s:.3g}") for s in np.geomspace(0.01, 10, 13))


@dataclass(frozen=True)
class StrategiesConfig:
    """The task, the optimiser, the reference point and the sweeps around it.

    Anchors are compared at equal coefficient eta f''(1). Raises ValueError that names the field, its value
    and what is allowed. Source: entries `forms_and_curvature`.
    """

    prompts: _Counts = (15, 10, 7, 7, 6, 5)  # Prompts of each type: the easy one, H_1, H_2, ...
    base: tuple[float, ...] = (0.30, 0.25, 0.20, 0.15, 0.10)  # The base's strategies.
    easy_rate: Rate = 0.97
    hard_rate: Rate = 0.4
    group: AtLeastTwo = 8
    learning_rate: Positive = 0.5
    steps: Count = 2000
    # g, the weight of each type's own logits; 0 for fully shared strategies.
    conditioning: _Conditioning = 0.1
    strength: Positive = 1.0  # eta f''(1) of the anchors in the comparison of methods.
    alpha: Rate = 0.5  # The alpha-divergence of that comparison.
    conditionings: Annotated[tuple[_Conditioning, ...], Filled] = (0.0, 0.03, 0.1, 0.3, 1.0)
    strengths: Strengths = _STRENGTHS
    alphas: Rates = (0.1, 0.25, 0.5, 0.75, 0.9)
    draws: _Counts = _DRAWS  # k of the Pass@k curves.
    coverage_draws: Count = 16  # k of the Pass@k that measures coverage elsewhere.
    rises: Strengths = (0.02, 0.05, 0.1, 0.2)  # Thresholds of the collapse meter, in nats of mean excess KL.
    fall: Rate = 0.05  # Drop from its maximum at which Pass@k counts as fallen.
    random_tasks: AtLeastTwo = 100  # Tasks with random weights, bases and skills.

    def __post_init__(self) -> None:
        check(self)
        for name, value in (("conditioning", self.conditionings), ("strength", self.strengths)):
            if getattr(self, name) not in value:
                raise argument_error(name, getattr(self, name), f"one of the sweep's values {value}")
        if self.alpha not in self.alphas:
            raise argument_error("alpha", self.alpha, f"one of the sweep's values {self.alphas}")
        most = float(largest_strength(self.task, np.array(max(self.conditionings)), ALL, self.learning_rate))
        if max(self.strengths) >= most:
            allowed = f"below {most:.4g}, or the steps overshoot"
            raise argument_error("strengths", max(self.strengths), allowed)

    @classmethod
    def quick(cls) -> "StrategiesConfig":
        """Configuration with fewer steps and coarser sweeps."""
        conditionings, strengths = (0.0, 0.1, 1.0), (0.01, 0.1, 1.0, 10.0)
        return cls(
            conditionings=conditionings, strengths=strengths, alphas=(0.5,), random_tasks=20, steps=800
        )

    @property
    def task(self) -> StrategiesTask:
        """Task with the prompt types weighted by their share."""
        weights = np.array(self.prompts) / sum(self.prompts)
        return task(weights, np.array(self.base), easy_rate=self.easy_rate, hard_rate=self.hard_rate)

    @property
    def optimiser(self) -> Optimiser:
        """Settings of GRPO's exact gradient ascent."""
        return Optimiser(self.learning_rate, self.steps, self.group)

    @property
    def divergences(self) -> dict[str, FDivergence]:
        """Compared divergences by name, from forward to reverse KL."""
        forward = {"forward KL": FORWARD_KL, "JS": JENSEN_SHANNON}
        return forward | {"alpha": alpha_divergence(self.alpha), "reverse KL": REVERSE_KL}


KIND = "toy.strategies"

PLACES = {"D_pef": False, "all prompts": True}
"""Places of an anchor; does the anchor act on all prompts?"""


def method(results: Mapping[str, Any], name: str) -> Row:
    """Row of results for the method of that name."""
    return next(row for row in results["methods"] if row["name"] == name)


def swept(config: StrategiesConfig, sweep: Sequence[Row]) -> pd.DataFrame:
    """Data frame of the sweep at the configured conditioning, one row per place, direction, strength."""
    g = config.conditionings.index(config.conditioning)
    named = {divergence.name: name for name, divergence in config.divergences.items()}
    frames = []
    for block in sweep:
        if block.get("divergence") in named:
            row = {"place": block["place"], "direction": named[block["divergence"]]}
            curves = {name: block[name][g] for name in ("pass_at_1", "pass_at_k")}
            frames.append(pd.DataFrame({**row, "strength": config.strengths, **curves}))
    return pd.concat(frames, ignore_index=True)


def directions(config: StrategiesConfig, sweep: Sequence[Row]) -> pd.DataFrame:
    """Pivot `swept` to one row per place and strength, strengths increasing.

    Columns: ("pass_at_1" or "pass_at_k", direction), and ("gap", ""), the forward KL's Pass@k minus the
    reverse KL's, at equal coefficient. Source: entries `forms_and_curvature`.
    """
    rows = swept(config, sweep).pivot(index=["place", "strength"], columns="direction")
    rows["gap", ""] = rows["pass_at_k"]["forward KL"] - rows["pass_at_k"]["reverse KL"]
    return rows.reindex(list(PLACES), level="place")


def meter_warnings(config: StrategiesConfig, sweep: Sequence[Row]) -> list[Warnings]:
    """Lead times of the collapse meter over all trainings of the sweep, one entry per threshold."""
    warnings = []
    for index, rise in enumerate(config.rises):
        leads: list[LeadTime] = []
        for block in sweep:
            for warned, fallen in zip(block["meter_step"][index], block["coverage_step"], strict=True):
                leads += map(LeadTime, warned, fallen)
        warnings.append(Warnings(rise, tuple(leads)))
    return warnings


def findings(config: StrategiesConfig, results: Mapping[str, Any]) -> list[str]:
    """Sentences about training with and without an anchor, the KL's direction, random tasks and the meter."""
    k = config.coverage_draws
    (base_1, base_k), (free_1, free_k), (held_1, held_k) = (
        [f"{row[name]:.3f}" for name in ("pass_at_1", "pass_at_k")]
        for row in (results["base"], method(results, "GRPO"), method(results, "DPH-F"))
    )
    rows = directions(config, results["sweep"]).loc["D_pef"]
    widest, strongest = rows.loc[rows.gap.abs().idxmax()], rows.iloc[-1]
    changes = "; ".join(
        "{} {:+.3f} ({:+.3f} to {:+.3f})".format(row["name"], *row["pass_at_k_change"])
        for row in results["random_tasks"]
    )
    warned = meter_warnings(config, results["sweep"])[1]
    fallen = len(warned.fallen)
    return [
        f"The base has Pass@1 {base_1} and Pass@{k} {base_k}; GRPO has {free_1} and {free_k}, DPH-F "
        "(GRPO with a forward KL on the prompts that the base solves, coefficient "
        f"{config.strength:g}) {held_1} and {held_k}.",
        "At equal coefficients eta f''(1) the direction of that KL matters most at "
        f"{widest.name:g}: Pass@{k} is {widest['pass_at_k', 'forward KL']:.3f} with the forward and "
        f"{widest['pass_at_k', 'reverse KL']:.3f} with the reverse KL; at {strongest.name:g} the "
        f"two differ by {abs(strongest['gap', '']):.4f}.",
        f"Over {config.random_tasks} random tasks the mean change of Pass@{k} (with its 95% interval) is: "
        f"{changes}.",
        f"A rise of the excess KL by {warned.rise:g} nats came before a fall of Pass@{k} by {config.fall:g} "
        f"in {warned.warned_before} of the {fallen} trainings that fell, and in {warned.false_alarms} of the "
        f"{len(warned.leads) - fallen} that did not.",
    ]


def tables(record: dict[str, Any]) -> list[Table]:
    """Return the table of methods; ValueError if the record is not one of this experiment."""
    stored = checked(record, KIND)
    config, results = from_json(StrategiesConfig, stored["config"]), stored["results"]
    first = {"name": "base", "eta": 0.0, "guarantee_margin": 0.0} | results["base"]
    shown: list[tuple[str, ...]] = []
    for row in (first, *results["methods"]):
        shown.append((row["name"], f"{row['eta']:g}", *(f"{row[name]:.3f}" for name in _METHOD_COLUMNS)))
    headers = (name.format(config.coverage_draws) for name in _METHOD_COLUMNS.values())
    title = f"Methods at g = {config.conditioning:g}"
    return [Table.from_rows(("method", "eta", *headers), shown, title)]


_METHOD_COLUMNS = {
    "pass_at_1": "Pass@1",
    "pass_at_k": "Pass@{}",
    "excess_kl": "excess KL",
    "guarantee": "guarantee on E",
    "guarantee_margin": "its least margin",
    "easy_entropy": "entropy on E",
}
