"""Theory against training as one record and as tables, and methods side by side."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory import pass_at_k
from dph_theory.coverage import entropy
from dph_theory.support.record import as_json, record
from dph_theory.support.table import Table

from ..evaluation.record import EvaluatedSet, PromptAnswers, Summary
from .instrument_checks import instrument_checks
from .measurements import MeasuredRun, PairedSet, frontier, read_runs
from .predictions import predictions
from .verdicts import LEVEL, Judgement, Line, MeanEstimate

COLUMNS = ("greedy", "Pass@1", "Pass@8", "Pass@32", "styles kept", "retention", "excess KL")
KS = (1, 2, 4, 8, 16, 32)
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
class MethodDifference:
    """A measure of one method less that of another, and the sign that the literature reports (0: none)."""

    measure: str
    before: str
    after: str
    value: float
    margin: float
    expected: int
    found: int
    """The sign told apart from none, or 0."""


def differences(evaluations: Evaluations) -> list[MethodDifference]:
    """Every method against the base, and the rehearsing ones against GRPO.

    Expected are a higher Pass@1 than the base's, for every method; a lower Pass@k at many samples and a lower
    style entropy, for GRPO; higher ones than GRPO's, for DPH.
    """
    samples = min(len(p.correct) for seeds in evaluations.values() for s in seeds for p in s.prompts)
    many = max(k for k in KS if k <= samples)
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
        found.append(MethodDifference(key, before, after, gap.value, gap.margin(), expected, sign))
    return found


def told_apart(found: Sequence[MethodDifference]) -> str:
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


def difference(before: Sequence[EvaluatedSet], after: Sequence[EvaluatedSet], of: Measure) -> MeanEstimate:
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
    return over_seeds_and_questions(second - first)


def level(seeds: Sequence[EvaluatedSet], of: Measure) -> MeanEstimate:
    """The mean of a measure over seeds and questions, with the error of `difference`."""
    found = [_by_question(seed, of) for seed in seeds]
    questions = [key for key in found[0] if all(key in seed for seed in found)]
    return over_seeds_and_questions(np.array([[seed[key] for key in questions] for seed in found]))


def over_seeds_and_questions(values: np.ndarray) -> MeanEstimate:
    """The mean of values (seeds, questions), both drawn at random."""
    parts = [
        (float(means.var(ddof=1)) / means.size, means.size - 1)
        for means in (values.mean(axis=0), values.mean(axis=1))
        if means.size > 1
    ]
    total = sum(variance for variance, _ in parts)
    spread = sum(variance**2 / freedom for variance, freedom in parts)
    units = int(total**2 / spread) + 1 if spread else values.shape[1]
    return MeanEstimate(float(values.mean()), math.sqrt(total) if parts else math.inf, units)


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


KIND = "full_scale.comparison"


@dataclass(frozen=True)
class SetMeasured:
    """Means over the prompts of one set of one run."""

    run: str
    set: str
    validity: float
    base_validity: float
    kl: float
    cost: float
    """The least KL at these validities."""
    excess: float
    excess_se: float


BAND = 0.05
"""How often a mean Pass@k lies outside its band."""


@dataclass(frozen=True)
class PassAtK:
    """The mean Pass@k of one set over the seeds of a run, or of the base, and how far off it may be."""

    run: str
    set: str
    seeds: int
    prompts: int
    value: Mapping[str, float]
    """By k."""
    margin: Mapping[str, float]
    """Half of the 95% band, over seeds and questions; of one seed, over questions alone."""


def pass_at_k_of(runs: Sequence[MeasuredRun]) -> list[PassAtK]:
    """Of each set: the base, and every run over its seeds (`<run>-seed0`, `<run>-seed1`, ...)."""
    found = []
    for name in dict.fromkeys(name for run in runs for name in run.evaluation.sets if name in run.base):
        seeds: dict[str, list[EvaluatedSet]] = {}
        for run in runs:
            if name in run.evaluation.sets and run.evaluation.sets[name].prompts:
                seeds.setdefault(BASE, [run.base[name]])
                seeds.setdefault(run.name.rpartition("-seed")[0], []).append(run.evaluation.sets[name])
        for of, sets in seeds.items():
            samples = min(len(prompt.correct) for one in sets for prompt in one.prompts)
            levels = {k: level(sets, partial(_pass, k=k)) for k in KS if k <= samples}
            means = {str(k): one.value for k, one in levels.items()}
            margins = {str(k): one.margin(level=BAND) for k, one in levels.items()}
            found.append(PassAtK(of, name, len(sets), len(sets[0].prompts), means, margins))
    return found


def _pass_table(rows: Sequence[PassAtK]) -> Table:
    ks = list(dict.fromkeys(k for row in rows for k in row.value))
    cells: list[tuple[str | float, ...]] = [
        (row.set, row.run, row.seeds, row.prompts, *(_band(row.value.get(k), row.margin.get(k)) for k in ks))
        for row in rows
    ]
    title = "Pass@k, means over seeds and prompts +- half of a 95% band over both"
    return Table.of(("set", "run", "seeds", "prompts", *(f"Pass@{k}" for k in ks)), cells, title)


def _band(value: float | None, margin: float | None) -> str:
    if value is None or margin is None:
        return ""
    return f"{value:.3f} +- {margin:.3f}" if math.isfinite(margin) else f"{value:.3f}"


@dataclass(frozen=True)
class Comparison:
    """What runs measured, the instrument checks, and the predictions, each a line with its judgement."""

    runs: tuple[str, ...]
    pass_at_k: tuple[PassAtK, ...]
    measured: tuple[SetMeasured, ...]
    checks: tuple[Line, ...]
    predictions: tuple[Line, ...]
    training: Mapping[str, Sequence[Mapping[str, float | None]]]
    """By run, what the collapse meter logged step by step."""

    def sentences(self) -> list[str]:
        """One on the checks, one on the predictions: all that is said of the tables."""
        told = f"{len(self.checks)} instrument checks: {_counts(self.checks)}."
        broken = [line for line in self.checks if line.verdict is Judgement.INCONSISTENT]
        if broken:
            where = "; ".join(f"{line.name} ({line.theory}) of {line.run} on {line.set}" for line in broken)
            told = f"ALARM, not consistent: {where}. {told}"
        many = "prediction" if len(self.predictions) == 1 else "predictions"
        judged = f"{len(self.predictions)} {many}: {_counts(self.predictions)}."
        missed = [line for line in self.predictions if line.verdict is Judgement.INCONSISTENT]
        kinds = dict.fromkeys(f"{line.name} ({line.theory}; {line.detail})" for line in missed)
        return [told, f"{judged} Inconsistent: {', '.join(kinds)}." if kinds else judged]

    def as_record(self) -> dict[str, Any]:
        """The record that is stored."""
        results = {key: value for key, value in as_json(self).items() if key != "runs"}
        return record(
            KIND,
            seed=0,
            config={"runs": list(self.runs), "level": LEVEL},
            results=results,
            findings=self.sentences(),
            packages=("numpy", "scipy", "torch"),
        )

    def tables(self) -> list[Table]:
        """Pass@k, what was measured on each set of each run, the checks and the predictions, judged."""
        measured = [
            (entry.run, entry.set, *(f"{number:.3f}" for number in _shown(entry))) for entry in self.measured
        ]
        headers = ("run", "set", "what", "theory", "measured", "theory says", "margin", "verdict", "")
        return [
            _pass_table(self.pass_at_k),
            Table.of(
                ("run", "set", "validity", "base", "KL", "least KL", "excess KL"),
                measured,
                "measured, means over prompts",
            ),
            Table.of(
                headers,
                map(_cells, self.checks),
                "instrument checks: hold for every policy; a violation is an alarm",
            ),
            Table.of(headers, map(_cells, self.predictions), "predictions: training could have missed them"),
        ]


def compare(runs: Sequence[Path]) -> Comparison:
    """Hold the runs of these folders against the theory.

    A run's evaluation and training records are read from its folder, the base's evaluation from `base`
    beside it. ValueError for missing or malformed files.
    """
    found = read_runs(runs)
    return Comparison(
        tuple(run.name for run in found),
        tuple(pass_at_k_of(found)),
        tuple(_of_set(run.name, *item) for run in found for item in run.sets.items() if _enough(item[1])),
        tuple(line for run in found for line in instrument_checks(run)),
        tuple(line for run in found for line in predictions(run)),
        {run.name: _along_training(run) for run in found},
    )


def _counts(lines: Sequence[Line]) -> str:
    return ", ".join(f"{sum(line.verdict is one for line in lines)} {one}" for one in Judgement)


def _cells(line: Line) -> tuple[str, ...]:
    predicted = f"{line.relation} {line.prediction:.3f}"
    numbers = (f"{line.estimate:.3f}", predicted, f"{line.margin:.3f}")
    return (line.run, line.set, line.name, line.theory, *numbers, str(line.verdict), line.detail)


def _enough(here: PairedSet) -> bool:
    return here.correct.shape[1] >= 2


def _of_set(run: str, name: str, here: PairedSet) -> SetMeasured:
    found = frontier(here)
    excess = found.mean_excess
    return SetMeasured(
        run,
        name,
        validity=float(here.rate.mean()),
        base_validity=float(here.base_rate.mean()),
        kl=float(found.kl.mean()),
        cost=float(found.cost.mean()),
        excess=excess.value,
        excess_se=excess.standard_error,
    )


def _along_training(run: MeasuredRun) -> list[dict[str, float | None]]:
    """What the collapse meter logged, without its prefix, at each step that has it."""
    prefix = "collapse/"
    return [
        {"step": entry.get("step")}
        | {key.removeprefix(prefix): value for key, value in entry.items() if key.startswith(prefix)}
        for entry in run.training.log
        if f"{prefix}excess_kl" in entry
    ]


def _shown(entry: SetMeasured) -> tuple[float, ...]:
    """The numbers of a row; an unbiased estimate of the least KL may lie below 0, the least KL does not."""
    return entry.validity, entry.base_validity, entry.kl, max(0.0, entry.cost), entry.excess
