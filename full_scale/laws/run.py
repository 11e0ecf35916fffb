"""A run as a value: which task, which form of the penalty, how trained; and the id it is kept under."""

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from dph_theory.support.errors import argument_error, choice

SEQUENCE, TOKEN_REVERSE, TOKEN_FORWARD = "sequence reverse KL", "token reverse KL", "token forward KL"
FILTERED, BASE = "filtered model", "base"
FORMS: MappingProxyType[str, str | None] = MappingProxyType(
    {
        "none": None,
        "k3": TOKEN_FORWARD,
        "k3_corrected": TOKEN_REVERSE,
        "k2": TOKEN_REVERSE,
        "sequence_kl": SEQUENCE,
        "future_kl": SEQUENCE,
        "alpha_dpg": None,
        "rehearsal": None,
    }
)
"""The penalties, and the law that each obeys by theory E, where it is one of the three.

k3, k3_corrected: TRL's `beta` with `use_bias_correction_kl` off and on. k2: (log u)^2/2 in the loss, by its
gradient in the advantages. sequence_kl: the KL of the answer in the reward. future_kl: the corrected k3 in
the loss, and the later tokens' log-ratios subtracted from each token's advantage (arXiv 2601.10201).
"""


@dataclass(frozen=True)
class Run:
    """One training; two runs with equal fields are the same run, and have the same id."""

    experiment: str
    task: str
    form: str
    beta: float = 0.0
    """Coefficient of the penalty; of the rehearsal, eta."""
    annealed_from: float | None = None
    """beta at the first step, from which it falls geometrically to `beta` by the middle of the training."""
    scale: Literal["none", "group"] = "none"
    group_size: int = 128
    groups: int = 1
    """Groups of each row in a step."""
    learning_rate: float = 1e-3
    """Falls linearly to zero, unless `constant`."""
    steps: int = 250
    seed: int = 0
    optimiser: Literal["adam", "sgd"] = "adam"
    constant: bool = False
    rank: int | None = None
    """Of a LoRA adapter; None trains every weight."""
    lost: float | None = None
    """The share of the lost answers among the valid ones at the start; None starts from the base."""
    collapsed: bool = False
    """Whether training without a KL term has lost them, and not a fit to the base's other tables."""
    alpha: float | None = None
    """Of alpha-DPG."""
    rehearsed: str | None = None
    """What is rehearsed on stored correct samples: log_u (-log u), k3, js or alpha (alpha = 0.2)."""
    reward: bool = True
    """Off: nothing but the rehearsal or alpha-DPG trains."""
    dapo: bool = False
    """DAPO's exploration: the ratio clipped at 1.28 above, and the mean over tokens."""
    rounds: int = 1
    """Trainings one after the other, each from and against the policy before."""
    every: int = 0
    """Steps between exact measurements; 0 for the end alone."""

    def __post_init__(self) -> None:
        choice("form", self.form, FORMS)
        if FORMS[self.form] is not None and not self.beta > 0:
            raise argument_error("beta", self.beta, f"above 0 for {self.form}")
        if self.annealed_from is not None and (self.form != "sequence_kl" or self.annealed_from < self.beta):
            raise argument_error(
                "annealed_from", self.annealed_from, "for sequence_kl alone, and at least its beta"
            )
        if self.collapsed and self.lost is None:
            raise argument_error("collapsed", self.collapsed, "with a share of lost answers, `lost`")
        if (self.rehearsed is not None) != (self.form == "rehearsal"):
            raise argument_error("rehearsed", self.rehearsed, "given for the form rehearsal alone")

    @cached_property
    def digest(self) -> str:
        """Of the content: that of a run does not change when fields with defaults are added."""
        return hashlib.sha256(json.dumps(self.changed, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def id(self) -> str:
        """The name it is kept under."""
        return f"{self.experiment}-{self.task}-{self.form}-{self.digest}"

    @property
    def law(self) -> str | None:
        """The law it obeys by theory E."""
        return FORMS[self.form]

    @property
    def target(self) -> str | None:
        """What alpha-DPG, or rehearsal alone, aims at (B3, B7): the filtered model, or the base as it is."""
        if self.form == "alpha_dpg":
            return FILTERED
        if self.form != "rehearsal" or self.reward:
            return None
        return FILTERED if self.rehearsed == "log_u" else BASE

    @property
    def centring(self) -> str:
        """How its rewards are centred, as `dph_theory.laws.SCALES` names it."""
        if self.form in ("sequence_kl", "alpha_dpg"):
            return "leave_one_out"
        return {"none": "none", "group": "std"}[self.scale]

    @property
    def changed(self) -> dict[str, Any]:
        """The fields that are not their defaults."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            field.name: values[field.name] for field in fields(self) if values[field.name] != field.default
        }
