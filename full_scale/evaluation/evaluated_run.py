"""The record of an evaluation, as `dph evaluate` stores it: answers by prompt, and statistics of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from dph_theory import pass_at_k
from dph_theory.coverage import entropy
from dph_theory.intervals import Rate, mean_estimate
from dph_theory.support.errors import argument_error
from dph_theory.support.record import from_json, read_record

from ..tasks.protocol import FAILED

KIND = "full_scale.evaluation"


@dataclass(frozen=True, kw_only=True)
class PromptAnswers:
    """Judged answers to a prompt: one greedy and several sampled. Tuples have one entry per sample."""

    id: str
    question: str = ""
    """Hash of the prompt's text, which several prompts share if they ask different databases."""
    greedy: int = 0
    """1 if the greedy answer is correct."""
    correct: tuple[int, ...]
    log_pi: tuple[float, ...] = ()
    """Sequence log-probabilities under the evaluated model, at the sampling temperature."""
    log_ref: tuple[float, ...] = ()
    """Sequence log-probabilities under the initial model, at the sampling temperature."""
    styles: tuple[str | None, ...] = ()
    outcomes: Mapping[str, int] = field(default_factory=dict)
    unfinished: int = 0
    """Number of sampled answers that were cut off."""
    mean_correct: tuple[float, ...] | None = None
    """Mean reward of each sample over all prompts of this text; None if only one prompt has the text."""

    @property
    def named_styles(self) -> Counter[str]:
        """Number of samples by style, for samples whose style has a name."""
        return Counter(style for style in self.styles if style is not None)


@dataclass(frozen=True)
class Mean:
    """A mean over prompts. The value is None without prompts; the standard error needs at least two."""

    value: float | None
    standard_error: float | None


@dataclass(frozen=True)
class Share(Mean):
    """A mean over a subset of the prompts."""

    prompts: int


@dataclass(frozen=True)
class Solved:
    """Shares of solved prompts, by the greedy answer and by any correct sample."""

    greedy: Share
    samples: Share


@dataclass(frozen=True)
class Summary:
    """Statistics of a set, as computed by `full_scale.evaluation.summary`."""

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
    """The prompts of a set, with their statistics."""

    prompts: tuple[PromptAnswers, ...]
    summary: Summary
    match: tuple[str, ...] = ()
    """Execution matches by which SQL answers were judged."""


@dataclass(frozen=True)
class RehearsedRow:
    """A row of the rehearsal buffer: log-probabilities of its completion, and sum_t f(u_t) by divergence."""

    id: str
    log_ref: float
    log_pi: float
    token_sums: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelHash:
    """Hash of the evaluated weights."""

    hash: str


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a run, or of the base."""

    run: str
    model: ModelHash
    sets: Mapping[str, EvaluatedSet]
    initial: ModelHash
    """The model behind `log_ref`, from which training started."""
    rehearsed: tuple[RehearsedRow, ...] = ()
    identity: Mapping[str, Any] = field(default_factory=dict)
    """Hashes and settings on which the answers and their scores depend."""

    @classmethod
    def read(cls, path: Path, made_by: str = "dph evaluate --config ...") -> "Evaluation":
        """Read the record in a file. RefusedError names the command to run; ValueError names a defect."""
        return from_json(cls, read_record(path, KIND, made_by)["results"])

    @property
    def findings(self) -> list[str]:
        """One sentence per set that states its statistics."""
        return [self._finding(name, entry.summary, entry.match) for name, entry in self.sets.items()]

    def _finding(self, name: str, numbers: Summary, match: Sequence[str]) -> str:
        judged_by = f", execution match of {' and '.join(match)}" if match else ""
        words = f"{self.run} on {name} ({numbers.prompts} prompts{judged_by})"
        words += f": greedy {_number_text(numbers.greedy)}"
        words += "".join(f", Pass@{k} {_number_text(value)}" for k, value in numbers.pass_at_k.items())
        if numbers.style_entropy:
            words += f"; style entropy {_number_text(numbers.style_entropy)} nats"
        for kind, solved in (("retention", numbers.retention), ("newly solved", numbers.exploration)):
            if solved is not None and solved.samples.value is not None:
                # The interval of a proportion, whose error is not 0 if all prompts agree.
                count = solved.samples.prompts
                rate = Rate.of_counts(round(solved.samples.value * count), count)
                words += f"; {kind} {rate.value:.3f} ({rate.correct} of {rate.n}, "
                words += f"95% interval {rate.low:.3f} to {rate.high:.3f})"
        if failed := sum(numbers.outcomes.get(outcome, 0.0) for outcome in FAILED):
            words += f"; the verifier failed on {failed:.1%} of the samples, which count as incorrect"
        return words


def _number_text(number: Mean) -> str:
    error = number.standard_error
    # The estimated error is 0 if all prompts have equal values, but the true error is not.
    return f"{number.value:.3f}" + (f" (se {error:.3f})" if error else "")


Prompts = Sequence[PromptAnswers]


def summary(prompts: Prompts, ks: Sequence[int]) -> Summary:
    """Compute means over prompts, with standard errors that treat prompts as independent.

    The fields are greedy accuracy; unbiased Pass@k for each k; style_entropy, the mean entropy in nats of a
    prompt's named styles (prompts without named styles are left out); and the shares of styles and of
    outcomes over all samples. Source: chen2021codex for Pass@k.
    """
    if not prompts:
        raise argument_error("prompts", [], "at least one")
    correct = np.array([sum(p.correct) for p in prompts])
    samples = np.array([len(p.correct) for p in prompts])
    named = [counts for p in prompts if (counts := p.named_styles)]
    outcomes: Counter[str] = sum((Counter(p.outcomes) for p in prompts), Counter())
    return Summary(
        prompts=len(prompts),
        greedy=mean(np.array([p.greedy for p in prompts], dtype=float)),
        pass_at_k={str(k): mean(pass_at_k(samples, correct, k)) for k in ks},
        style_entropy=mean(np.array([entropy_of(counts) for counts in named])) if named else None,
        styles=_shares(sum(named, Counter())),
        outcomes=_shares(outcomes),
    )


def against_base(prompts: Prompts, base: Prompts) -> tuple[Solved, Solved]:
    """Compute the retained and the newly solved prompts over the prompts that both evaluations contain.

    A prompt is solved greedily if its greedy answer is correct, and by sampling if any sample is correct.
    Retention is the share of the base's solved prompts that are still solved. Exploration is the share of the
    other prompts that are now solved. Either is None without such prompts. Sampling noise alone flips prompts
    of low pass rate, so that a model compared with its own new samples does not reach 1 and 0.
    """
    of_base = {entry.id: entry for entry in base}
    pairs = [(entry, of_base[entry.id]) for entry in prompts if entry.id in of_base]
    if not pairs:
        raise argument_error(
            "base", [entry.id for entry in base][:3], "prompts that the run's evaluation also contains"
        )
    greedy = np.array([[bool(entry.greedy) for entry in pair] for pair in pairs])
    samples = np.array([[any(entry.correct) for entry in pair] for pair in pairs])
    retained, gained = (
        Solved(*(_share(now[before == solved]) for now, before in (greedy.T, samples.T)))
        for solved in (True, False)
    )
    return retained, gained


def mean(values: Float[np.ndarray, " prompts"]) -> Mean:
    """Mean over prompts and its standard error s/sqrt(n), None for a single value."""
    estimate = mean_estimate(values)
    return Mean(estimate.value, estimate.standard_error if estimate.units > 1 else None)


def _share(solved: np.ndarray) -> Share:
    share = mean(solved.astype(float)) if len(solved) else Mean(None, None)
    return Share(share.value, share.standard_error, len(solved))


def entropy_of(counts: Counter[str]) -> float:
    """Entropy of a histogram, in nats."""
    shares = np.array(list(counts.values()), dtype=float)
    return float(entropy(shares / shares.sum()))


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = sum(counts.values())
    return {name: count / total for name, count in counts.most_common()}
