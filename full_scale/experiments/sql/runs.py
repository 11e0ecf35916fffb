"""The runs on the SQL task as values, with their measurements; importing this module loads no model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from dph_theory.coverage import pass_at_k
from dph_theory.support.errors import argument_error

from ..outcome import Settings

STEPS = (10, 20, 40, 80, 160, 320, 640)
"""Optimizer steps after which a run is measured."""
ANSWERS, BASE_ANSWERS, TRAINED_ANSWERS = 256, 1024, 64
"""Answers per text: on held-out prompts, on held-out prompts by the base, on training prompts."""
TEMPERATURES, HOTTER_ANSWERS = (1.1, 1.2, 1.4), 64
"""Further sampling temperatures for the final policy of a GRPO run, and answers per text at each."""
SEEDS, FEWER_SEEDS = (2, 3, 4, 5, 6), (2, 3, 4)
"""Seeds of the first five methods, and of all others. Seeds 0 and 1 suggested the claims."""
Divisor: TypeAlias = Literal["none", "std", "mean"]


@dataclass(frozen=True)
class SqlRun(Settings):
    """One training on the SQL task."""

    experiment: str
    method: str = "GRPO"
    """Name of the method in recipes."""
    divided_by: Divisor = "std"
    """Divisor of the advantage; without effect if the KL is in the reward."""
    coefficient: float | None = None
    """Coefficient of the KL penalty; None without a penalty."""
    group_size: int = 8
    anchors: int = 0
    """Number of prompts whose base answers are rehearsed instead of those of solved prompts."""
    false_positives: float = 0.0
    """Share of incorrect answers that the verifier accepts."""
    false_negatives: float = 0.0
    """Share of correct answers that the verifier rejects."""
    steps: int = STEPS[-1]
    seed: int = SEEDS[0]

    def __post_init__(self) -> None:
        for name in ("false_positives", "false_negatives"):
            if not 0 <= getattr(self, name) < 1:
                raise argument_error(name, getattr(self, name), "a share in [0, 1)")

    @property
    def id(self) -> str:
        """Name under which the run is stored."""
        name = re.sub("[^a-z0-9]+", "-", self.label.lower())
        return f"{name}-seed{self.seed}-{self.digest}"

    @property
    def label(self) -> str:
        """Name of the method with every setting that is not its default, for tables."""
        name = {"none": "Dr. GRPO", "std": "GRPO", "mean": "MaxRL"}[self.divided_by]
        if self.method.startswith("DPH"):
            name = self.method + (" by mean" if self.divided_by == "mean" else "")
        elif self.method == "KL-control-sequence":
            name = "KL in the reward"
        elif self.coefficient is not None:
            name = f"{name} + k3"
        parts = [name] if self.coefficient is None else [f"{name} {self.coefficient:g}"]
        parts += [f"groups of {self.group_size}"] if self.group_size != 8 else []
        parts += [f"{self.anchors} anchors"] if self.anchors else []
        parts += [f"{self.false_positives:.0%} false positives"] if self.false_positives else []
        parts += [f"{self.false_negatives:.0%} false negatives"] if self.false_negatives else []
        return ", ".join(parts)

    @property
    def overrides(self) -> tuple[str, ...]:
        """Changes to the packaged recipe `tiny-sql`, as KEY=VALUE."""
        words = [f"method.name={self.method}", f"seed={self.seed}", f"train.max_steps={self.steps}"]
        words += ["train.learning_rate=4.5e-4", "train.lr_scheduler_type=constant"]
        words += [f"train.num_generations={self.group_size}", "train.collapse_every=0"]
        if self.method != "KL-control-sequence":
            words.append(f"method.divided_by={self.divided_by}")
        if self.coefficient is not None:
            words.append(f"method.beta={self.coefficient}")
        if self.anchors:
            words.append(f"presample.anchors={self.anchors}")
        return tuple(words)


@dataclass(frozen=True)
class Answered:
    """Judged answers of one policy to the prompts of one set.

    Prompts that share a text (one question asked of ten databases) share their answers. Each answer is judged
    against every database, so that Pass@k of each prompt is unbiased.
    """

    n: int
    """Number of answers to each prompt."""
    correct: tuple[int, ...]
    """Number of correct answers to each prompt, in the order of the task."""
    styles: Mapping[str, int]
    """Number of answers by style; `other` counts answers without a style, or incorrect on every database."""
    temperature: float = 1.0

    def pass_at(self, k: int) -> float:
        """Mean over prompts of the unbiased Pass@k."""
        return float(np.mean(pass_at_k(self.n, np.array(self.correct), k)))

    @property
    def shares(self) -> dict[str, float]:
        """Share of each style among the answers."""
        total = sum(self.styles.values())
        return {style: count / total for style, count in self.styles.items()}

    @property
    def style_entropy(self) -> float:
        """Entropy of the shares of styles, in nats."""
        shares = np.array([share for share in self.shares.values() if share > 0])
        return float(-(shares * np.log(shares)).sum())


@dataclass(frozen=True)
class Checkpoint:
    """Measurements of a policy after a number of optimizer steps."""

    step: int
    held_out: Answered
    trained: Answered
    """Answers to the explored prompts, judged by the exact verifier."""
    kl: float
    """Mean over held-out texts of the estimated KL(policy || base), in nats."""
    excess_kl: float
    """Mean of that KL minus the minimum KL with the same mean pass rate of the text, in nats."""


@dataclass(frozen=True)
class FinishedSqlRun:
    """A run with its checkpoints; `hotter` contains its final policy at other sampling temperatures."""

    run: SqlRun
    course: tuple[Checkpoint, ...]
    hotter: tuple[Answered, ...] = ()
    seconds: float = 0.0

    def at(self, step: int) -> Checkpoint:
        """Checkpoint of a step; KeyError if the step was not measured."""
        for checkpoint in self.course:
            if checkpoint.step == step:
                return checkpoint
        raise KeyError(step)


@dataclass(frozen=True)
class MeasuredBase:
    """Measurements of the base: answers to both sets, its styles, and the numbers of (un)solved prompts."""

    held_out: Answered
    trained: Answered
    verdicts: Mapping[str, tuple[int, ...]]
    """By held-out text, the number of answers that pass 0, 1, ... of the text's databases."""
    successes: Mapping[str, tuple[tuple[int, int], ...]]
    """By style, the numbers (correct, all) of its answers to each training prompt."""
    solved: int
    explored: int


@dataclass(frozen=True)
class SharesForecast:
    """A forecast of the shared strategies' course, made before training from the base's counts alone.

    The expected-gradient flow on the training prompts gives pass rate, Pass@8, Pass@32 and shares of styles.
    Entries: `retention`.
    """

    divided_by: Divisor
    group_size: int
    pass_at_1: tuple[float, ...]
    pass_at_8: tuple[float, ...]
    pass_at_32: tuple[float, ...]
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def pass_at(self, k: int, pass_rate: float) -> float:
        """Forecast Pass@k (k 8 or 32) when Pass@1 is `pass_rate`; constant beyond the forecast's end."""
        values = {8: self.pass_at_8, 32: self.pass_at_32}[k]
        return float(np.interp(pass_rate, self.pass_at_1, values))


def first_runs() -> list[SqlRun]:
    """Runs of three divisors of the advantage and of rehearsal (DPH-F) with two, seed by seed."""
    settings: list[dict[str, Any]] = [
        {"experiment": "divisors", "divided_by": divisor} for divisor in ("none", "std", "mean")
    ]
    settings += [
        {"experiment": "rehearsal", "method": "DPH-F", "divided_by": divisor} for divisor in ("std", "mean")
    ]
    return [SqlRun(**setting, seed=seed) for seed in SEEDS for setting in settings]


def other_runs() -> list[SqlRun]:
    """Runs with other penalties, groups, anchors and verifiers, seed by seed."""
    settings: list[dict[str, Any]] = [
        {"experiment": "verifier errors", "divided_by": divisor, name: 0.1}
        for name in ("false_positives", "false_negatives")
        for divisor in ("std", "mean")
    ]
    settings += [
        {"experiment": "penalties", "method": "GRPO-KL", "coefficient": beta, "divided_by": divisor}
        for beta in (0.04, 0.3)
        for divisor in ("std", "mean")
    ]
    settings += [{"experiment": "penalties", "method": "GRPO-KL", "coefficient": 0.001}]
    settings += [
        {"experiment": "rehearsal", "method": "DPH-JS", "divided_by": divisor} for divisor in ("std", "mean")
    ]
    settings += [
        {"experiment": "groups", "group_size": 32, "divided_by": divisor}
        for divisor in ("none", "std", "mean")
    ]
    settings += [
        {
            "experiment": "penalties",
            "method": "KL-control-sequence",
            "coefficient": 0.04,
            "divided_by": "none",
        },
        {"experiment": "anchors", "method": "DPH-F", "divided_by": "mean", "anchors": 32},
    ]
    return [SqlRun(**setting, seed=seed) for seed in FEWER_SEEDS for setting in settings]


def declared() -> list[SqlRun]:
    """All runs, the first five methods before the others."""
    return [*first_runs(), *other_runs()]


def quick_runs() -> list[SqlRun]:
    """GRPO, and DPH-F with advantages divided by the mean, for the first STEPS[0] steps."""
    return [SqlRun("divisors", steps=STEPS[0]), SqlRun("rehearsal", "DPH-F", "mean", steps=STEPS[0])]
