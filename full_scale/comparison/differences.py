"""Methods side by side: the columns of a table, and differences between methods with the sign expected."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dph_theory import pass_at_k
from dph_theory.coverage import entropy

from ..evaluation.record import EvaluatedSet, PromptAnswers, Summary
from .verdicts import Estimate

COLUMNS = ("greedy", "Pass@1", "Pass@8", "Pass@32", "styles kept", "retention", "excess KL")
BASE, GRPO, REHEARSING = "base", "GRPO", "DPH"
Evaluations = Mapping[str, Sequence[EvaluatedSet]]
"""The evaluated set of each seed of each method, and of the base."""
Measure = Callable[[PromptAnswers], float]


@dataclass(frozen=True)
class Column:
    """A number of a method, one value a seed; none where it is not defined."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        """The mean over seeds, if there are any."""
        return float(np.mean(self.values)) if self.values else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation over seeds, where there are several."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None


def columns(evaluations: Evaluations, excess: Mapping[str, Sequence[float]]) -> dict[str, dict[str, Column]]:
    """Each column of each method.

    styles kept: entropy of a prompt's style histogram over its samples, in nats; retention: of the prompts of
    which a base sample was correct, the share of which a sample still is.
    """
    found = {}
    for name, seeds in evaluations.items():
        each = [_numbers(seed.summary) for seed in seeds]
        values = {key: [numbers[key] for numbers in each] for key in each[0]} | {"excess KL": excess[name]}
        found[name] = {
            key: Column(tuple(number for number in numbers if number is not None))
            for key, numbers in values.items()
        }
    return found


def _numbers(summary: Summary) -> dict[str, float | None]:
    return {
        "greedy": summary.greedy.value,
        **{f"Pass@{k}": mean.value for k, mean in summary.pass_at_k.items()},
        "styles kept": summary.style_entropy.value if summary.style_entropy else None,
        "retention": summary.retention.samples.value if summary.retention else None,
    }


@dataclass(frozen=True)
class Difference:
    """A measure of one method less that of another, and the sign that the literature reports (0: none)."""

    measure: str
    before: str
    after: str
    value: float
    margin: float
    expected: int
    found: int
    """The sign told apart from none, or 0."""


def differences(evaluations: Evaluations) -> list[Difference]:
    """Every method against the base, and the rehearsing ones against GRPO.

    Expected are a higher Pass@1 than the base's, for every method; a lower Pass@k at many samples and a lower
    style entropy, for GRPO; higher ones than GRPO's, for DPH.
    """
    samples = min(len(p.correct) for seeds in evaluations.values() for s in seeds for p in s.prompts)
    many = max(k for k in (1, 2, 4, 8, 16, 32) if k <= samples)
    measures: dict[str, Measure] = {
        "Pass@1": lambda prompt: _pass(prompt, 1),
        f"Pass@{many}": lambda prompt: _pass(prompt, many),
        "style entropy": _style_entropy,
    }
    methods = [name for name in evaluations if name != BASE]
    pairs = [(BASE, name, key) for name in methods for key in measures]
    if GRPO in evaluations:
        rehearsing = [name for name in methods if name.startswith(REHEARSING)]
        pairs += [(GRPO, name, key) for name in rehearsing for key in measures if key != "Pass@1"]
    found = []
    for before, after, key in pairs:
        gap = difference(evaluations[before], evaluations[after], measures[key])
        sign = 0 if abs(gap.value) <= gap.margin() else int(np.sign(gap.value))
        expected = _expected(before, after, key)
        found.append(Difference(key, before, after, gap.value, gap.margin(), expected, sign))
    return found


def told_apart(found: Sequence[Difference]) -> str:
    """How many of the expected differences were found."""
    expected = [one for one in found if one.expected]
    agreed = sum(one.found == one.expected for one in expected)
    open_ = sum(one.found == 0 for one in expected)
    return (
        f"Of {len(expected)} expected differences {agreed} were found, {open_} were not told apart from "
        f"none, {len(expected) - agreed - open_} went the other way."
    )


def _expected(before: str, after: str, measure: str) -> int:
    if before == GRPO or measure == "Pass@1":
        return 1
    return -1 if after == GRPO else 0


def difference(before: Sequence[EvaluatedSet], after: Sequence[EvaluatedSet], of: Measure) -> Estimate:
    """The mean of a measure after minus before, over seeds and questions, both counted as drawn at random.

    A prompt is compared with itself, and a seed with the same seed of the other method (the base, evaluated
    once, stands for each). Prompts of one text, asked of several databases, are one question: a policy cannot
    tell them apart. The squared error is that over questions plus that over seeds, its degrees of freedom
    Satterthwaite's (1946); a single seed has no error of its own.
    """
    count = max(len(before), len(after))
    sides = [[_by_question(side[seed % len(side)], of) for seed in range(count)] for side in (before, after)]
    questions = [key for key in sides[0][0] if all(key in seed for side in sides for seed in side)]
    first, second = (np.array([[seed[key] for key in questions] for seed in side]) for side in sides)
    gaps = second - first
    parts = [
        (float(means.var(ddof=1)) / means.size, means.size - 1)
        for means in (gaps.mean(axis=0), gaps.mean(axis=1))
        if means.size > 1
    ]
    total = sum(variance for variance, _ in parts)
    spread = sum(variance**2 / freedom for variance, freedom in parts)
    units = int(total**2 / spread) + 1 if spread else len(questions)
    return Estimate(float(gaps.mean()), math.sqrt(total) if parts else math.inf, units)


def _by_question(evaluated: EvaluatedSet, of: Measure) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for prompt in evaluated.prompts:
        found.setdefault(prompt.question, []).append(of(prompt))
    return {question: float(np.mean(values)) for question, values in found.items()}


def _pass(prompt: PromptAnswers, k: int) -> float:
    return float(pass_at_k(len(prompt.correct), sum(prompt.correct), k))


def _style_entropy(prompt: PromptAnswers) -> float:
    named = [style for style in prompt.styles if style is not None]
    counts = np.unique(named, return_counts=True)[1] if named else np.ones(1)
    return float(entropy(counts / counts.sum()))
