"""What every task is made of: examples, a verifier that scores completions, and the styles it can name."""

import hashlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from dph_theory.support.errors import RefusedError, argument_error

FAILED = {"crash": "its process died", "timeout": "no verdict in its time"}
"""The outcomes of a verifier that failed, and what they are where it says no more."""
VERDICT = "verifier"
"""The name of the reward that is correctness."""
_SHOWN = 5
"""So many of the values that are no verdicts are listed."""
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
    """A reward: v in {0, 1}, the outcome's name to be counted, and the answer's style if it has one."""

    correct: bool
    outcome: str
    """`correct`, `wrong`, or why nothing could be compared (`no_answer`, `error`, `timeout`, ...)."""
    style: str | None = None
    detail: str = field(default="", compare=False)
    """What the verifier said when it failed: its exception, or how long it had."""
    value: float | str | None = field(default=None, compare=False)
    """What a verifier returned that is neither true nor false, 0 nor 1: a reward without its threshold."""


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
    """Gives completions numbers beside correctness; None where it has none, and never raises."""

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[float | None]:
        """One number for each pair of example and completion, in order."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


@dataclass(frozen=True)
class WeightedReward:
    """A reward beside that of correctness, whose weight is 1; of weight 0 it is logged alone."""

    scorer: Scorer
    weight: float = 0.0


@dataclass(frozen=True)
class Task:
    """A verifiable task: prompts to train on, sets to evaluate on, a verifier that names styles if it can."""

    name: str
    train: Sequence[Prompt]
    evaluation: Mapping[str, Sequence[Prompt]]
    """Evaluation sets by name: `in_domain`, `cross_domain`, `out_of_domain`, whichever the task has."""
    verifier: Verifier
    system: str | None = None
    """The system message that goes before every prompt where the model is used through its chat template."""
    repeats_prompts: bool = False
    """Whether prompts are meant to share their text, as where a question has several readings."""
    rewards: Mapping[str, WeightedReward] = field(default_factory=dict)
    """Rewards of the training beside correctness, by name; the theory is of correctness alone."""

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
            (most, times), *_ = Counter(example.id for example in examples).most_common(1)
            if times > 1:
                raise argument_error(f"{name} example id", most, "ids must be unique within a set")


def repeated_prompts(task: Task) -> list[str]:
    """A sentence for each set on prompts that have the text of another one; none where a task intends it."""
    sentences = []
    for name, examples in {"train": task.train, **task.evaluation}.items():
        texts = {example.prompt for example in examples}
        pairs = {(example.prompt, repr(example.reference)) for example in examples}
        if (repeated := len(examples) - len(texts)) and not task.repeats_prompts:
            differ = len(pairs) - len(texts)
            meaning = f"; {differ} are judged by another reference, by which the same answer may be incorrect"
            sentences.append(
                f"{name}: {repeated} of {len(examples)} prompts have the text of another"
                f"{meaning if differ else ', as if it were sampled more often'}."
            )
    return sentences


class VerifierError(RefusedError):
    """A verifier that failed on all it was asked: its zeros would say nothing of the model."""


class RewardWithoutThresholdError(VerifierError):
    """A verifier that returns other values than 0 and 1, without the least one of a correct answer."""


def judged(verifier: Verifier, examples: Sequence[Prompt], completions: Sequence[str]) -> list[Score]:
    """The verifier's scores.

    Raises:
        VerifierError: If the verifier failed on every answer to all prompts (failures on a single prompt may
            be its data's, and are outcomes).
        RewardWithoutThresholdError: If it returned anything but true and false, 0 and 1.
    """
    scores = verifier(examples, completions)
    if rewards := Counter(score.value for score in scores if score.value is not None):
        most = rewards.most_common(_SHOWN)
        listed = ", ".join(f"{x if isinstance(x, str) else f'{x:g}'} ({times} times)" for x, times in most)
        text = f"the verifier returned {listed}: neither true nor false, 0 nor 1"
        if numbers := [x for x in rewards if not isinstance(x, str)]:
            text += f"; name the least reward of a correct answer, as in --correct-from {max(numbers):g}"
            text += " (task.options.own.correct_from in a recipe)"
        raise RewardWithoutThresholdError(text)
    if len({example.id for example in examples}) > 1:
        refuse_all_failed(failures(scores), len(scores))
    return scores


def failures(scores: Sequence[Score]) -> dict[str, int]:
    """What the verifier said where it failed, and how often."""
    failed = [score for score in scores if score.outcome in FAILED]
    return dict(Counter(score.detail or FAILED[score.outcome] for score in failed))


def refuse_all_failed(counts: Mapping[str, int], answers: int) -> None:
    """VerifierError if there are as many failures as answers."""
    if counts and sum(counts.values()) == answers:
        raise VerifierError(f"the verifier failed on every one of {answers} answers: {failures_text(counts)}")


def failures_text(counts: Mapping[str, int]) -> str:
    """The most frequent failures in words."""
    most = sorted(counts.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{detail} ({count} times)" for detail, count in most[:3])
    return listed + (f", and {len(most) - 3} others" if len(most) > 3 else "")


def is_verdict(value: Any) -> bool:
    """Whether a value is true or false, or the number 1 or 0 as either: no text, no array of one entry."""
    return getattr(value, "shape", ()) == () and value in (True, False)


def bound_to(verifier: Any) -> dict[str, Any]:
    """What decides a verifier's, or a reward's, values: its `bound`, or else the source of its module."""
    settings = getattr(verifier, "bound", None)
    return dict(settings) if settings is not None else source_of(verifier.__module__)


def matches(verifier: Verifier, examples: Sequence[Prompt]) -> tuple[str, ...]:
    """How a verifier compares answers to these prompts, where it has several ways, as that of SQL has."""
    match_of = getattr(verifier, "match_of", lambda example: None)
    return tuple(sorted({match for example in examples if (match := match_of(example)) is not None}))


def source_of(*modules: str) -> dict[str, str]:
    """The start of the sha256 of imported modules' sources, by name; none where there is no file."""
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in modules}
    return {
        f"module {name}": hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
        for name, file in files.items()
        if file is not None
    }


def own_modules(module: str) -> list[str]:
    """An imported module, and a user's own that are imported and lie beside it or below its folder."""
    files = {name: Path(getattr(other, "__file__", None) or "/") for name, other in [*sys.modules.items()]}
    apart, folder = {"site-packages", "full_scale", "dph_theory"}, files.get(module, Path("/")).parent
    own = [name for name, file in files.items() if folder in file.parents and apart.isdisjoint(file.parts)]
    return [*(own if module in files else ()), module]
