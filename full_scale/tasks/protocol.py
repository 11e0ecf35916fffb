"""What every task is made of: examples, a verifier that scores completions, and the styles it can name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from dph_theory.support.errors import argument_error

VERDICT = "verifier"
"""The name of the reward that is the verdict."""
RESERVED = ("train", "rehearsed", "explored")
"""Names of sets that are the training's own: no evaluation set of a task may bear one."""


@dataclass(frozen=True)
class Prompt:
    """One prompt with what its verifier needs to judge an answer; `id` is unique within a task."""

    id: str
    prompt: str
    reference: Mapping[str, Any] = field(default_factory=dict)
    """What the verifier compares with, as JSON-ready values (a gold query and its database, an answer)."""
    turns: Sequence[Mapping[str, str]] = ()
    """Of a conversation, its messages (role, content) as TRL takes them; `prompt` then is their text."""


@dataclass(frozen=True)
class Score:
    """A verdict: v in {0, 1}, the outcome's name to be counted, and the answer's style if it has one."""

    correct: bool
    outcome: str
    """`correct`, `wrong`, or why nothing could be compared (`no_answer`, `error`, `timeout`, ...)."""
    style: str | None = None


@runtime_checkable
class Verifier(Protocol):
    """Scores completions; one that crashes, hangs or misbehaves scores incorrect, and never raises."""

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[Score]:
        """One score for each pair of example and completion, in order."""
        ...

    def close(self) -> None:
        """Free what the verifier holds (processes, connections)."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """Gives completions numbers beside the verdict; None where it has none, and never raises."""

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[float | None]:
        """One number for each pair of example and completion, in order."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


@dataclass(frozen=True)
class WeightedReward:
    """A reward beside the verdict's, whose weight is 1; of weight 0 it is logged alone."""

    scorer: Scorer
    weight: float = 0.0


@dataclass(frozen=True)
class Task:
    """A verifiable task: prompts to train on, sets to evaluate on, a verifier, the styles of its answers."""

    name: str
    train: Sequence[Prompt]
    evaluation: Mapping[str, Sequence[Prompt]]
    """Evaluation sets by name: `in_domain`, `cross_domain`, `out_of_domain`, whichever the task has."""
    verifier: Verifier
    styles: tuple[str, ...] = ()
    system: str | None = None
    """The system message that goes before every prompt where the model is used through its chat template."""
    rewards: Mapping[str, WeightedReward] = field(default_factory=dict)
    """Rewards of the training beside the verdict, by name; the theory is of the verdict alone."""

    def close(self) -> None:
        """Free what the verifier and the rewards hold."""
        self.verifier.close()
        for reward in self.rewards.values():
            reward.scorer.close()

    def __post_init__(self) -> None:
        for name in self.evaluation:
            if name in RESERVED:
                raise argument_error(f"task {self.name!r} evaluation set", name, f"any name but {RESERVED}")
        for name, examples in {"train": self.train, **self.evaluation}.items():
            if not examples:
                raise argument_error(f"task {self.name!r} set", name, "every set needs at least one example")
            seen: set[str] = set()
            for example in examples:
                if example.id in seen:
                    raise argument_error(f"{name} example id", example.id, "ids must be unique within a set")
                seen.add(example.id)
