"""Theory against training as one record and as tables, and methods side by side."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory.checkpoints.pass_at_k import curves
from dph_theory.intervals import THREE_SIGMA, MeanEstimate
from dph_theory.support.record import as_json, record
from dph_theory.support.table import Table

from ..evaluation.record import EvaluatedSet, PromptAnswers, Summary, entropy_of
from .instrument_checks import instrument_checks
from .measurements import MeasuredRun, PairedSet, frontier, read_runs
from .predictions import predictions, untested
from .verdicts import Judgement, Line

COLUMNS = ("greedy", "Pass@1", "Pass@8", "Pass@32", "styles kept", "retention", "excess KL")
KS = (1, 2, 4, 8, 16, 32)
BASE, GRPO, REHEARSING = "base", "GRPO", "DPH"
Evaluations = Mapping[str, Sequence[EvaluatedSet]]
"""The evaluated set of each seed of each method, and of the base."""
Measure = Callable[[Sequence[PromptAnswers]], Sequence[float] | np.ndarray]  # Of prompts, a number of each.


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
    by_method = {}
    for name, seeds in evaluations.items():
        rows = [
            {**_numbers(seed.summary), "excess KL": value}
            for seed, value in zip(seeds, excess[name], strict=True)
        ]
        by_method[name] = {
            key: Column(tuple(float(value) for row in rows if (value := row.get(key)) is not None))
            for key in dict.fromkeys(key for row in rows for key in row)
        }
    return by_method


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

    @property
    def sign(self) -> int:
        """The sign if it is established, or 0; `found` in stored records."""
        return 0 if abs(self.value) <= self.margin else int(np.sign(self.value))

    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        signs = {0: "", 1: "higher", -1: "lower"}
        numbers = (f"{self.value:+.3f}", f"{self.margin:.3f}")
        methods = f"{self.after} - {self.before}"
        return (self.measure, methods, *numbers, signs[self.expected], signs[self.sign])


def differences(evaluations: Evaluations) -> list[MethodDifference]:
    """Every method against the base, and the rehearsing ones against GRPO.

    Expected are a higher Pass@1 than the base's, for every method; a lower Pass@k at many samples and a lower
    style entropy, for GRPO; higher ones than GRPO's, for DPH.
    """
    samples = min(len(p.correct) for seeds in evaluations.values() for s in seeds for p in s.prompts)
    many = max(k for k in KS if k <= samples)
    measures: dict[str, Measure] = {
        "Pass@1": partial(_pass, k=1),
        f"Pass@{many}": partial(_pass, k=many),
        "style entropy": _style_entropy,
    }
    methods = [name for name in evaluations if name != BASE]
    pairs = [(BASE, name, key) for name in methods for key in measures]
    if GRPO in evaluations:
        rehearsing = [name for name in methods if name.startswith(REHEARSING)]
        pairs += [(GRPO, name, key) for name in rehearsing for key in measures if key != "Pass@1"]
    gaps = []
    for before, after, key in pairs:
        gap = difference(evaluations[before], evaluations[after], measures[key])
        expected = -1 if after == GRPO else 0
        if before == GRPO or key == "Pass@1":
            expected = 1
        gaps.append(MethodDifference(key, before, after, gap.value, gap.margin(), expected))
    return gaps


def reproduced(gaps: Sequence[MethodDifference]) -> str:
    """How many of the expected differences were found."""
    expected = [gap for gap in gaps if gap.expected]
    agreed = sum(gap.sign == gap.expected for gap in expected)
    open_ = sum(gap.sign == 0 for gap in expected)
    return (
        f"Of {len(expected)} expected differences {agreed} were found, {open_} were not statistically "
        f"significant, {len(expected) - agreed - open_} went the other way."
    )


def difference(
    before: Sequence[EvaluatedSet], after: Sequence[EvaluatedSet], measure: Measure
) -> MeanEstimate:
    """The mean of a measure after minus before, over seeds and questions, both counted as drawn at random.

    A prompt is compared with itself, and a seed with the same seed of the other method (the base, evaluated
    once, stands for each).
    """
    count = max(len(before), len(after))
    first, second = (
        _by_question([side[at % len(side)] for at in range(count)], measure) for side in (before, after)
    )
    pairs = zip(first, second, strict=True)
    return _mean([{key: new[key] - old[key] for key in old if key in new} for old, new in pairs])


def _by_question(seeds: Sequence[EvaluatedSet], measure: Measure) -> list[dict[str, float]]:
    """A measure by question, of each seed.

    Prompts of one text, asked of several databases, are one question: a policy cannot tell them apart.
    """
    means = []
    for evaluated in seeds:
        values: dict[str, list[float]] = {}
        for prompt, value in zip(evaluated.prompts, measure(evaluated.prompts), strict=True):
            values.setdefault(prompt.question, []).append(float(value))
        means.append({question: sum(several) / len(several) for question, several in values.items()})
    return means


def _mean(by_question: Sequence[Mapping[str, float]]) -> MeanEstimate:
    """The mean over seeds and those questions that all of them have, both counted as drawn at random.

    The squared error is that over questions plus that over seeds, its degrees of freedom Satterthwaite's
    (1946); a single seed has no error of its own.
    """
    common = [question for question in by_question[0] if all(question in seed for seed in by_question)]
    values = np.array([[seed[question] for question in common] for seed in by_question])
    parts = [
        (float(means.var(ddof=1)) / means.size, means.size - 1)
        for means in (values.mean(axis=0), values.mean(axis=1))
        if means.size > 1
    ]
    total = sum(variance for variance, _ in parts)
    spread = sum(variance**2 / freedom for variance, freedom in parts)
    units = int(total**2 / spread) + 1 if spread else values.shape[1]
    return MeanEstimate(float(values.mean()), math.sqrt(total) if parts else math.inf, units)


def _pass(prompts: Sequence[PromptAnswers], k: int) -> np.ndarray:
    n, c = np.array([(len(prompt.correct), sum(prompt.correct)) for prompt in prompts]).T
    return curves(n, c, [k])[:, 0]


def _style_entropy(prompts: Sequence[PromptAnswers]) -> list[float]:
    return [entropy_of(named) if (named := prompt.named_styles) else 0.0 for prompt in prompts]


KIND = "full_scale.validation"


@dataclass(frozen=True)
class SetMeans:
    """Means over the prompts of one set of one run."""

    run: str
    set: str
    pass_rate: float
    base_pass_rate: float
    kl: float
    cost: float  # The least KL at these pass rates.
    excess: float

    @classmethod
    def of_set(cls, run: str, name: str, prompts: PairedSet) -> "SetMeans":
        """The means of a set."""
        measured = frontier(prompts)
        of_prompts = (prompts.rate, prompts.base_rate, measured.kl, measured.cost)
        rate, base, kl, cost = (float(values.mean()) for values in of_prompts)
        return cls(run, name, rate, base, kl, cost, measured.mean_excess.value)

    def cells(self) -> tuple[str, ...]:
        """The row of a table; an unbiased estimate of the least KL may lie below 0, the least KL does not."""
        least = max(0.0, self.cost)
        shown = (self.pass_rate, self.base_pass_rate, self.kl, least, self.kl - least)
        return (self.run, self.set, *(f"{number:.3f}" for number in shown))


WIDE = 10.0  # A margin so many times as wide as what it is about is none.
BAND = 0.05  # How often a mean Pass@k lies outside its band.


@dataclass(frozen=True)
class PassAtK:
    """The mean Pass@k of one set over the seeds of a run, or of the base, and how far off it may be."""

    run: str
    set: str
    seeds: int
    prompts: int
    value: Mapping[str, float]  # By k.
    margin: Mapping[str, float]
    """Half of the 95% band, over seeds and questions; of one seed, over questions alone."""

    def cells(self, ks: Sequence[str]) -> tuple[str | float, ...]:
        """The row of a table."""
        bands = {
            k: f"{value:.3f}" + (f" +- {self.margin[k]:.3f}" if math.isfinite(self.margin[k]) else "")
            for k, value in self.value.items()
        }
        return (self.set, self.run, self.seeds, self.prompts, *(bands.get(k, "") for k in ks))


def pass_at_k_of(runs: Sequence[MeasuredRun]) -> list[PassAtK]:
    """Of each set: the base, and every run over its seeds (`<run>-seed0`, `<run>-seed1`, ...)."""
    rows = []
    for name in dict.fromkeys(name for run in runs for name in run.evaluation.sets if name in run.base):
        by_run: dict[str, list[EvaluatedSet]] = {}
        for run in runs:
            if name in run.evaluation.sets and run.evaluation.sets[name].prompts:
                by_run.setdefault(BASE, [run.base[name]])
                by_run.setdefault(run.name.rpartition("-seed")[0], []).append(run.evaluation.sets[name])
        for run_name, seeds in by_run.items():
            samples = min(len(prompt.correct) for evaluated in seeds for prompt in evaluated.prompts)
            means = {str(k): _mean(_by_question(seeds, partial(_pass, k=k))) for k in KS if k <= samples}
            values = {k: mean.value for k, mean in means.items()}
            margins = {k: mean.margin(level=BAND) for k, mean in means.items()}
            rows.append(PassAtK(run_name, name, len(seeds), len(seeds[0].prompts), values, margins))
    return rows


@dataclass(frozen=True)
class Validation:
    """What runs measured, the instrument checks, and the predictions, each a line with its judgement."""

    runs: tuple[str, ...]
    pass_at_k: tuple[PassAtK, ...]
    measured: tuple[SetMeans, ...]
    checks: tuple[Line, ...]
    predictions: tuple[Line, ...]
    training: Mapping[str, Sequence[Mapping[str, float | None]]]
    """By run, what the collapse meter logged step by step."""
    policies: tuple[str, ...] = ()
    """Of each run where it converges to, or why that is not known, and what was not tested."""

    def sentences(self) -> list[str]:
        """One on the checks, one on the predictions: all that is said of the tables."""
        of_checks = f"{len(self.checks)} instrument checks: {_counts(self.checks)}."
        broken = [line for line in self.checks if line.verdict is Judgement.INCONSISTENT]
        if broken:
            where = "; ".join(f"{line.name} ({line.theory}) of {line.run} on {line.set}" for line in broken)
            of_checks = f"ALARM, not consistent: {where}. {of_checks}"
        many = "prediction" if len(self.predictions) == 1 else "predictions"
        of_predictions = f"{len(self.predictions)} {many}: {_counts(self.predictions)}."
        missed = [line for line in self.predictions if line.verdict is Judgement.INCONSISTENT]
        kinds = dict.fromkeys(f"{line.name} ({line.theory}; {line.detail})" for line in missed)
        if kinds:
            of_predictions += f" Inconsistent: {', '.join(kinds)}."
        return [of_checks, *self.policies, of_predictions]

    def as_record(self) -> dict[str, Any]:
        """The record that is stored."""
        results = {key: value for key, value in as_json(self).items() if key != "runs"}
        config, packages = {"runs": list(self.runs), "level": THREE_SIGMA}, ("numpy", "scipy")
        findings = self.sentences()
        return record(KIND, seed=0, config=config, results=results, findings=findings, packages=packages)

    def tables(self) -> list[Table]:
        """Pass@k, what was measured on each set of each run, the checks and the predictions, judged."""
        ks = list(dict.fromkeys(k for row in self.pass_at_k for k in row.value))
        of_pass = ("set", "run", "seeds", "prompts", *(f"Pass@{k}" for k in ks))
        of_set = ("run", "set", "pass_rate", "base", "KL", "least KL", "excess KL")
        of_line = ("run", "set", "what", "theory", "measured", "theory says", "margin", "verdict", "")
        checks = "instrument checks: hold for every policy; a violation is an alarm"
        predicted = "predictions: training could have missed them"
        pass_at_k = "Pass@k, means over seeds and prompts +- half of a 95% band over both"
        rows = [row.cells(ks) for row in self.pass_at_k]
        return [
            Table.from_rows(of_pass, rows, pass_at_k),
            Table.from_rows(of_set, [row.cells() for row in self.measured], "measured, means over prompts"),
            Table.from_rows(of_line, map(_cells, self.checks), checks),
            Table.from_rows(of_line, map(_cells, self.predictions), predicted),
        ]


def validate(runs: Sequence[Path]) -> Validation:
    """Hold the runs of these folders against the theory.

    A run's evaluation and training records are read from its folder, the base's evaluation from `base`
    beside it. ValueError for missing or malformed files.
    """
    measured_runs = read_runs(runs)
    return Validation(
        runs=tuple(run.name for run in measured_runs),
        pass_at_k=tuple(pass_at_k_of(measured_runs)),
        measured=tuple(
            SetMeans.of_set(run.name, name, prompts)
            for run in measured_runs
            for name, prompts in run.sets.items()
            if prompts.correct.shape[1] >= 2
        ),
        checks=tuple(line for run in measured_runs for line in instrument_checks(run)),
        predictions=tuple(line for run in measured_runs for line in predictions(run)),
        training={run.name: _along_training(run) for run in measured_runs},
        policies=tuple(sentence for run in measured_runs for sentence in untested(run)),
    )


def _counts(lines: Sequence[Line]) -> str:
    counts = Counter(line.verdict for line in lines)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Judgement)


def _cells(line: Line) -> tuple[str, ...]:
    predicted = f"{line.relation} {line.prediction:.3f}"
    margin = "-" if line.margin > WIDE * max(1.0, abs(line.prediction)) else f"{line.margin:.3f}"
    numbers = (f"{line.estimate:.3f}", predicted, margin)
    return (line.run, line.set, line.name, line.theory, *numbers, str(line.verdict), line.detail)


def _along_training(run: MeasuredRun) -> list[dict[str, float | None]]:
    """What the collapse meter logged, without its prefix, at each step that has it."""
    prefix = "collapse/"
    return [
        {"step": entry.get("step")}
        | {key.removeprefix(prefix): value for key, value in entry.items() if key.startswith(prefix)}
        for entry in run.training.log
        if f"{prefix}excess_kl" in entry
    ]
