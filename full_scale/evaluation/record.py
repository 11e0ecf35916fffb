"""What an evaluation holds, as `dph evaluate` stores it: answers by prompt, and what they amount to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dph_theory.support.frozen import from_json
from dph_theory.support.record import read_record

KIND = "full_scale.evaluation"


@dataclass(frozen=True, kw_only=True)
class PromptAnswers:
    """One greedy and several sampled answers to a prompt, judged; entries of tuples are the samples."""

    id: str
    question: str = ""
    """The prompt's text, as a hash: prompts of several databases may share one."""
    greedy: int = 0
    """1 if the greedy answer is correct."""
    correct: tuple[int, ...]
    log_pi: tuple[float, ...] = ()
    """Sequence log-probabilities at the sampling temperature, under the model."""
    log_ref: tuple[float, ...] = ()
    """And under the initial one."""
    styles: tuple[str | None, ...] = ()
    outcomes: Mapping[str, int] = field(default_factory=dict)
    unfinished: int = 0
    """How many of all answers were cut off."""
    mean_correct: tuple[float, ...] | None = None
    """The mean verdict over all prompts of this text, where there are several."""


@dataclass(frozen=True)
class Mean:
    """A mean over prompts; None where there is no prompt, or too few for a standard error."""

    value: float | None
    standard_error: float | None


@dataclass(frozen=True)
class Share(Mean):
    """A mean over some of the prompts."""

    prompts: int


@dataclass(frozen=True)
class Solved:
    """A share by the greedy answers, and by whether any sample was correct."""

    greedy: Share
    samples: Share


@dataclass(frozen=True)
class Summary:
    """What `full_scale.evaluation.summary` says of a set."""

    prompts: int
    greedy: Mean
    pass_at_k: Mapping[str, Mean]
    style_entropy: Mean | None
    styles: Mapping[str, float]
    outcomes: Mapping[str, float]
    retention: Solved | None = None
    exploration: Solved | None = None


@dataclass(frozen=True)
class EvaluatedSet:
    """A set of prompts."""

    prompts: tuple[PromptAnswers, ...]
    summary: Summary


@dataclass(frozen=True)
class RehearsedRow:
    """A row of the rehearsal buffer: log-probabilities of its completion, and sum_t f(u_t) by divergence."""

    id: str
    log_ref: float
    log_pi: float
    token_sums: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Rehearsed:
    """The rows of the rehearsal buffer."""

    rows: tuple[RehearsedRow, ...] = ()


@dataclass(frozen=True)
class ModelHash:
    """Which weights were evaluated."""

    hash: str


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a run, or of the base."""

    run: str
    model: ModelHash
    sets: Mapping[str, EvaluatedSet]
    rehearsed: Rehearsed = Rehearsed()

    @classmethod
    def read(cls, path: Path, made_by: str = "dph evaluate") -> "Evaluation":
        """The record in a file; ValueError says what is wrong with it, or which command writes it."""
        return from_json(cls, read_record(path, KIND, made_by)["results"])

    @property
    def findings(self) -> list[str]:
        """One sentence a set, from its numbers."""
        return [self._finding(name, found.summary) for name, found in self.sets.items()]

    def _finding(self, name: str, numbers: Summary) -> str:
        words = f"{self.run} on {name} ({numbers.prompts} prompts): greedy {_told(numbers.greedy)}"
        words += "".join(f", Pass@{k} {_told(value)}" for k, value in numbers.pass_at_k.items())
        if numbers.style_entropy:
            words += f"; style entropy {_told(numbers.style_entropy)} nats"
        for kind, solved in (("retention", numbers.retention), ("exploration", numbers.exploration)):
            if solved is not None and solved.samples.value is not None:
                words += f"; {kind} {_told(solved.samples)}"
        return words


def _told(number: Mean) -> str:
    error = number.standard_error
    return f"{number.value:.3f}" + ("" if error is None else f" (se {error:.3f})")
