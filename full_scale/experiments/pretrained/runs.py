"""Fields and measures of a training of the pretrained Llama."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dph_theory.coverage import exact_pass_at_k

from ..outcome import Outcome, Settings, annealed

EXPLORED = "last digits"
REHEARSED = ("weekdays by example", "months by example", "rain by example", "colours by example")
HELD_OUT = ", held out"  # Suffix of the name of a kind: its prompts that no run trains.
UNTRAINED = EXPLORED + HELD_OUT  # Explored kind, never trained.
MIXTURE = (EXPLORED, *REHEARSED)
NEVER = tuple(name + half for name in ("weekdays", "colours", "fruits") for half in ("", HELD_OUT))
MEASURED = (*MIXTURE, *(name + HELD_OUT for name in MIXTURE), *NEVER, "minutes", "primes", "sums in words")
GROUP = 16  # Answers per prompt and step.
RANDOM, BY_KERNEL, ALONE = "at random", "by kernel", "least coupled"
WORDS = "words"
COURSES = ("advantages", WORDS)  # Experiments whose runs' courses are stored and compared.
PICKED = (RANDOM, BY_KERNEL, ALONE)
"""Selection of anchors: random, to explain most of the kernel, or to explain least."""


@dataclass(frozen=True)
class OpenRun(Settings):
    """A training of the pretrained Llama: on samples with a seed, in expectation without one.

    `dph_theory.support.settings_text` writes its settings for people.
    """

    experiment: str
    tasks: tuple[str, ...]  # Trained tasks, each on all its texts.
    method: str
    """One of `losses.METHODS_BY_NAME`, or the plain policy gradient."""
    kl: Literal["none", "reward", "k2", "k3", "k3_corrected"] = "none"
    """The form of the KL to the base on trained prompts: of the answer in the reward, or of tokens."""
    coefficient: float = 0.0  # Of the KL, of the rehearsal (eta), or of the forward KL on anchors.
    coefficient_from: float | None = None
    """Initial coefficient, which falls geometrically by the middle of the training."""
    optimiser: Literal["adam", "sgd"] = "adam"
    learning_rate: float = 1e-5
    rank: int | None = None  # Of a LoRA adapter; None trains every weight.
    steps: int = 20
    seed: int | None = None
    measured_after: int = 0  # Steps before the kernel that predicts the rest is measured.
    anchors: int = 0  # Number of the first task's held-out prompts anchored by a forward KL.
    picked: str | None = None  # Selection of the anchors, one of PICKED.
    answers: int | None = None
    """Stored answers of each anchor, correct and not; None for the base's exact probabilities."""
    model: str | None = None  # A packaged model; None for the study's own.

    @property
    def id(self) -> str:
        """Name under which the run is stored."""
        return f"{self.experiment}-{self.digest}"

    @property
    def task(self) -> str:
        """Names of the run's tasks, joined by commas."""
        return ", ".join(self.tasks)

    @property
    def setting(self) -> "OpenRun":
        """All fields but the seed, as shared by runs of several seeds."""
        return replace(self, seed=None)

    @property
    def measured_every(self) -> int:
        """Number of training steps between two measured points of the run."""
        is_along = self.experiment in (*COURSES, "models")
        return max(2, self.steps // 10) if is_along else max(1, self.steps // 2)

    def coefficient_at(self, step: int) -> float:
        """KL coefficient at a training step, annealed from `coefficient_from` if that is given."""
        return annealed(self.coefficient, self.coefficient_from, step / self.steps)


@dataclass(frozen=True)
class TaskMeasures:
    """Exact measures of a task under a policy."""

    pass_rate: tuple[float, ...]  # Of each text.
    effective_answers: float  # exp of the entropy of the correct answers; a mean over texts.
    kl_to_base: float  # Of the whole answer, over the whole vocabulary; a mean over texts.
    first_shares: tuple[tuple[float, ...], ...] = ()
    """P(first word | correct) of each text; not stored for tasks with one correct answer per text."""


Policy = Mapping[str, TaskMeasures]  # Measures of a policy by task.


def pass_at(policy: Policy, tasks: Sequence[str], k: int, *, without: Sequence[int] = ()) -> float:
    """Exact Pass@k, the mean over all texts of the tasks except those in `without`."""
    rates = np.delete(np.concatenate([policy[task].pass_rate for task in tasks]), [*without])
    return float(exact_pass_at_k(np.minimum(rates, 1.0), np.asarray(k)).mean())


@dataclass(frozen=True)
class CoursePoint:
    """The policy after a number of steps."""

    step: int
    tasks: Policy


@dataclass(frozen=True)
class FinishedOpenRun(Outcome):
    """A run, its course, its final KL to each stationary policy, and its seconds."""

    run: OpenRun
    course: tuple[CoursePoint, ...]
    distances: Mapping[str, float]
    seconds: float
    seconds_a_step: float
    peak_gib: float = 0.0  # Peak memory of the process until then.
    gap: float | None = None  # Of the task whose mean pass rate is furthest from the prediction.

    @property
    def own(self) -> str | None:
        """KL form that represents the run's stationary policy; None if no distances were measured."""
        return policy_form(self.run.kl) if self.distances else None


Outcomes = Sequence[FinishedOpenRun]


def policy_form(kl: str) -> str:
    """KL form that represents all forms with the same stationary policy (k2: k3_corrected)."""
    return "k3_corrected" if kl == "k2" else kl


def of_experiment(name: str | Sequence[str], outcomes: Outcomes) -> list[FinishedOpenRun]:
    """Finished runs of one experiment, or of several."""
    names = (name,) if isinstance(name, str) else name
    return [outcome for outcome in outcomes if outcome.run.experiment in names]


def with_held_out(tasks: Sequence[str]) -> tuple[str, ...]:
    """Task names followed by the names of their held-out halves."""
    return (*tasks, *(name + HELD_OUT for name in tasks))
