"""Parts of every task: examples, a verifier that scores completions, and names of answer styles."""

import hashlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from dph_theory.support.errors import RefusedError, argument_error

# Outcomes of a failed verifier, with a default detail.
FAILED = {
    "crash": "its process died",
    "timeout": "no verdict in its time",
    "gold_error": "the reference cannot be judged",
}
UNREADABLE = "unreadable"  # Outcome without a comparison, because the database cannot be read.
VERDICT = "verifier"  # Name of the reward that is correctness.
_SHOWN = 5  # Maximal number of listed values that are neither 0 nor 1.
RESERVED = ("train", "rehearsed", "explored")
"""Set names reserved for training: an evaluation set of a task may not have one."""


@dataclass(frozen=True)
class Prompt:
    """One prompt with the reference that its verifier needs; `id` is unique within a task."""

    id: str
    prompt: str
    reference: Mapping[str, Any] = field(default_factory=dict)
    """Reference of the verifier as JSON-ready values (a gold query and its database, an answer)."""
    turns: Sequence[Mapping[str, str]] = ()
    """Messages (role, content) of a conversation, as TRL takes them; `prompt` is then their text."""


@dataclass(frozen=True)
class Score:
    """A reward in {0, 1}, the name of the outcome, and the answer's style if it has one."""

    correct: bool
    outcome: str
    """`correct`, `wrong`, or the reason without a comparison (`no_answer`, `error`, `timeout`, ...)."""
    style: str | None = None
    detail: str = field(default="", compare=False)
    """Detail of a verifier's failure: its exception, or its time limit."""
    value: float | str | None = field(default=None, compare=False)
    """A returned value that is neither true nor false, 0 nor 1: a reward without its threshold."""


@runtime_checkable
class Verifier(Protocol):
    """Scores completions; a crash, hang or misbehaviour scores incorrect and never raises."""

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[Score]:
        """Return one score for each pair of example and completion, in order."""
        ...

    def close(self) -> None:
        """Free the verifier's resources (processes, connections)."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """Gives completions further numbers, or None without one; never raises."""

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[float | None]:
        """Return one number for each pair of example and completion, in order."""
        ...

    def close(self) -> None:
        """Free its resources."""
        ...


@dataclass(frozen=True)
class WeightedReward:
    """A reward beside correctness, whose weight is 1; a weight of 0 only logs the reward."""

    scorer: Scorer
    weight: float = 0.0


@dataclass(frozen=True)
class Task:
    """A verifiable task: training prompts, evaluation sets, and a verifier that may name styles."""

    name: str
    train: Sequence[Prompt]
    evaluation: Mapping[str, Sequence[Prompt]]
    """Evaluation sets by name: `in_domain`, `cross_domain`, `out_of_domain`, if the task has them."""
    verifier: Verifier
    system: str | None = None
    """System message before every prompt, if the model is used through its chat template."""
    repeats_prompts: bool = False
    """Are prompts meant to share their text, as where a question has several readings?"""
    rewards: Mapping[str, WeightedReward] = field(default_factory=dict)
    """Training rewards beside correctness, by name; the theory is about correctness only."""

    def close(self) -> None:
        """Free the resources of the verifier and the rewards."""
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
    """Sentences on sets whose prompts have the text of another prompt; none if the task intends that."""
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
    """A verifier could not judge, so that its zeros do not measure the model."""


class RewardWithoutThresholdError(VerifierError):
    """A verifier returns other values than 0 and 1, without the threshold of a correct answer."""


def judged(verifier: Verifier, examples: Sequence[Prompt], completions: Sequence[str]) -> list[Score]:
    """The verifier's scores of (example, completion) pairs.

    Raises:
        VerifierError: If a database cannot be read, or if the verifier failed on every answer to several
            prompts. Failures on a single prompt, or on its reference, may come from its data, and are
            outcomes.
        RewardWithoutThresholdError: If it returned anything but true and false, 0 and 1.
    """
    scores = verifier(examples, completions)
    for score in scores:
        if score.outcome == UNREADABLE:
            raise VerifierError(f"the verifier cannot judge, and nothing is counted: {score.detail}")
    if rewards := Counter(score.value for score in scores if score.value is not None):
        most = rewards.most_common(_SHOWN)
        listed = ", ".join(f"{x if isinstance(x, str) else f'{x:g}'} ({times} times)" for x, times in most)
        text = f"the verifier returned {listed}: neither true nor false, 0 nor 1"
        if numbers := [x for x in rewards if not isinstance(x, str)]:
            text += f"; name the least reward of a correct answer, as in --correct-from {max(numbers):g}"
            text += " (task.options.own.correct_from in a recipe)"
        raise RewardWithoutThresholdError(text)
    if len({example.id for example in examples}) > 1:
        of_verifier = [score for score in scores if score.outcome != "gold_error"]
        refuse_all_failed(failures(of_verifier), len(scores))
    return scores


def failures(scores: Sequence[Score]) -> dict[str, int]:
    """Number of the verifier's failures by their detail."""
    failed = [score for score in scores if score.outcome in FAILED]
    return dict(Counter(score.detail or FAILED[score.outcome] for score in failed))


def refuse_all_failed(counts: Mapping[str, int], answers: int) -> None:
    """Raise VerifierError if there are as many failures as answers."""
    if counts and sum(counts.values()) == answers:
        raise VerifierError(f"the verifier failed on every one of {answers} answers: {failures_text(counts)}")


def failures_text(counts: Mapping[str, int]) -> str:
    """Words with the three most frequent failures and their counts."""
    most = sorted(counts.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{detail} ({count} times)" for detail, count in most[:3])
    return listed + (f", and {len(most) - 3} others" if len(most) > 3 else "")


def is_verdict(value: Any) -> bool:
    """True if the value is True, False, 1 or 0; texts and arrays of one entry are not."""
    return getattr(value, "shape", ()) == () and value in (True, False)


def bound_to(verifier: Any) -> dict[str, Any]:
    """Settings that determine a verifier's or a reward's values: its `bound`, or the source of its module."""
    settings = getattr(verifier, "bound", None)
    return dict(settings) if settings is not None else source_of(verifier.__module__)


def matches(verifier: Verifier, examples: Sequence[Prompt]) -> tuple[str, ...]:
    """Comparison modes that the verifier uses for these prompts, sorted; () if it has no modes."""
    match_of = getattr(verifier, "match_of", lambda example: None)
    return tuple(sorted({match for example in examples if (match := match_of(example)) is not None}))


def source_of(*modules: str) -> dict[str, str]:
    """Start of the sha256 of imported modules' sources, by name; modules without a file are left out."""
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in modules}
    return {
        f"module {name}": hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
        for name, file in files.items()
        if file is not None
    }


def own_modules(module: str) -> list[str]:
    """Names of an imported module and of the user's other imported modules in or below its folder."""
    files = {name: Path(getattr(other, "__file__", None) or "/") for name, other in [*sys.modules.items()]}
    apart, folder = {"site-packages", "full_scale", "dph_theory"}, files.get(module, Path("/")).parent
    own = [name for name, file in files.items() if folder in file.parents and apart.isdisjoint(file.parts)]
    return [*(own if module in files else ()), module]
