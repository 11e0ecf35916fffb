"""Theory compared with training, as one record and as tables, and methods compared with one another."""

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

from ..evaluation.evaluated_run import EvaluatedSet, PromptAnswers, Summary, entropy_of
from .measurements import MeasuredRun, PairedSet, frontier, read_runs
from .predictions import predictions, untested
from .sanity_checks import sanity_checks
from .verdicts import Judgement, Line

COLUMNS = ("greedy", "Pass@1", "Pass@8", "Pass@32", "style entropy", "retention", "excess KL")
KS = (1, 2, 4, 8, 16, 32)
BASE, GRPO, REHEARSING = "base", "GRPO", "DPH"
Evaluations = Mapping[str, Sequence[EvaluatedSet]]
"""Evaluations of one set: one per seed of each method, and one of the base."""
Measure = Callable[[Sequence[PromptAnswers]], Sequence[float] | np.ndarray]  # A statistic of each prompt.


@dataclass(frozen=True)
class Column:
    """A statistic of a method, one value per seed; empty if it is undefined."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        """Mean over seeds; None without seeds."""
        return float(np.mean(self.values)) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation over seeds; None for fewer than two."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None


def columns(evaluations: Evaluations, excess: Mapping[str, Sequence[float]]) -> dict[str, dict[str, Column]]:
    """Compute each column for each method.

    `style entropy` is the entropy of a prompt's style histogram over its samples, in nats. `retention` is the
    share of prompts with a correct base sample that still have a correct sample.
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
        "style entropy": summary.style_entropy.value if summary.style_entropy else None,
        "retention": summary.retention.samples.value if summary.retention else None,
    }


@dataclass(frozen=True)
class MethodDifference:
    """Difference of a measure between two methods, and the sign reported in the literature (0: none)."""

    measure: str
    before: str
    after: str
    value: float
    margin: float
    expected: int

    @property
    def sign(self) -> int:
        """Sign of a statistically significant difference, else 0."""
        return 0 if abs(self.value) <= self.margin else int(np.sign(self.value))

    def cells(self) -> tuple[str, ...]:
        """Table row: measure, methods, difference, margin, expected and observed sign in words."""
        signs = {0: "", 1: "higher", -1: "lower"}
        margin = f"{self.margin:.3f}" if math.isfinite(self.margin) else "one seed"
        numbers = (f"{self.value:+.3f}", margin)
        methods = f"{self.after} - {self.before}"
        return (self.measure, methods, *numbers, signs[self.expected], signs[self.sign])


def differences(evaluations: Evaluations) -> list[MethodDifference]:
    """Compare every method with the base, and the rehearsing methods with GRPO.

    Expected signs: Pass@1 above the base for every method; Pass@k at many samples and style entropy below the
    base for GRPO; both above GRPO for DPH.
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
    """Sentence on how many of the expected differences were observed, not significant, or reversed."""
    expected = [gap for gap in gaps if gap.expected]
    agreed = sum(gap.sign == gap.expected for gap in expected)
    open_ = sum(gap.sign == 0 for gap in expected)
    return (
        f"Of {len(expected)} expected differences {agreed} were observed, {open_} were not statistically "
        f"significant, {len(expected) - agreed - open_} went the other way."
    )


def difference(
    before: Sequence[EvaluatedSet], after: Sequence[EvaluatedSet], measure: Measure
) -> MeanEstimate:
    """Estimate a measure after minus before, treating seeds and questions as random samples.

    Each prompt is compared with itself, and each seed with the other method's same seed. The base, evaluated
    once, is compared with every seed.
    """
    count = max(len(before), len(after))
    first, second = (
        _by_question([side[at % len(side)] for at in range(count)], measure) for side in (before, after)
    )
    pairs = zip(first, second, strict=True)
    return _mean([{key: new[key] - old[key] for key in old if key in new} for old, new in pairs])


def _by_question(seeds: Sequence[EvaluatedSet], measure: Measure) -> list[dict[str, float]]:
    """Average a measure by question, for each seed.

    Prompts that ask several databases the same text are one question: a policy cannot distinguish them.
    """
    means = []
    for evaluated in seeds:
        values: dict[str, list[float]] = {}
        for prompt, value in zip(evaluated.prompts, measure(evaluated.prompts), strict=True):
            values.setdefault(prompt.question, []).append(float(value))
        means.append({question: sum(several) / len(several) for question, several in values.items()})
    return means


def _mean(by_question: Sequence[Mapping[str, float]]) -> MeanEstimate:
    """Average over seeds and over the questions that all seeds share, treating both as random samples.

    The squared error adds the contributions of questions and of seeds, with Satterthwaite's degrees of
    freedom (1946). A single seed contributes no error.
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
    cost: float  # The minimum of the KL at these pass rates.
    excess: float

    @classmethod
    def of_set(cls, run: str, name: str, prompts: PairedSet) -> "SetMeans":
        """Average pass rates and KL (nats) over the prompts of one set of one run."""
        measured = frontier(prompts)
        of_prompts = (prompts.rate, prompts.base_rate, measured.kl, measured.cost)
        rate, base, kl, cost = (float(values.mean()) for values in of_prompts)
        return cls(run, name, rate, base, kl, cost, measured.mean_excess.value)

    def cells(self) -> tuple[str, ...]:
        """Table row: run, set, pass rates, KL, its minimum (at least 0), excess KL; KLs in nats."""
        least = max(0.0, self.cost)
        shown = (self.pass_rate, self.base_pass_rate, self.kl, least, self.kl - least)
        return (self.run, self.set, *(f"{number:.3f}" for number in shown))


WIDE = 10.0  # A margin larger than this multiple of its number carries no information.
BAND = 0.05  # Probability that a mean Pass@k lies outside its band.


@dataclass(frozen=True)
class PassAtK:
    """Mean Pass@k of one set over the seeds of a run, or of the base, with its margin of error."""

    run: str
    set: str
    seeds: int
    prompts: int
    value: Mapping[str, float]  # By k.
    margin: Mapping[str, float]
    """Half-width of the 95% band over seeds and questions; over questions alone for one seed."""

    def cells(self, ks: Sequence[str]) -> tuple[str | float, ...]:
        """Table row: set, run, seeds, prompts, then Pass@k +- margin for each k of `ks`."""
        bands = {
            k: f"{value:.3f}" + (f" +- {self.margin[k]:.3f}" if math.isfinite(self.margin[k]) else "")
            for k, value in self.value.items()
        }
        return (self.set, self.run, self.seeds, self.prompts, *(bands.get(k, "") for k in ks))


def pass_at_k_of(runs: Sequence[MeasuredRun]) -> list[PassAtK]:
    """Mean Pass@k of each set: of the base, and of every run over its seeds (`<run>-seed0`, ...)."""
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
    """Measurements of runs, sanity checks and predictions, each line with its judgement."""

    runs: tuple[str, ...]
    pass_at_k: tuple[PassAtK, ...]
    measured: tuple[SetMeans, ...]
    checks: tuple[Line, ...]
    predictions: tuple[Line, ...]
    training: Mapping[str, Sequence[Mapping[str, float | None]]]
    """Values that the collapse meter logged at each step, by run."""
    policies: tuple[str, ...] = ()
    """For each run, the policy it converges to or why that is unknown, and the untested predictions."""

    def sentences(self) -> list[str]:
        """One sentence on the checks and one on the predictions, for all tables together."""
        of_checks = f"{len(self.checks)} sanity checks: {_counts(self.checks)}."
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
        """Validation as a stored record of kind KIND, with its sentences as findings."""
        results = {key: value for key, value in as_json(self).items() if key != "runs"}
        config, packages = {"runs": list(self.runs), "level": THREE_SIGMA}, ("numpy", "scipy")
        findings = self.sentences()
        return record(KIND, seed=0, config=config, results=results, findings=findings, packages=packages)

    def tables(self) -> list[Table]:
        """Tables of Pass@k, of the measurements on each set, and of the judged checks and predictions.

        Details of the checks are in the record; the sentences have those of inconsistent ones.
        """
        ks = list(dict.fromkeys(k for row in self.pass_at_k for k in row.value))
        of_pass = ("set", "run", "seeds", "prompts", *(f"Pass@{k}" for k in ks))
        of_set = ("run", "set", "pass_rate", "base", "KL", "minimum", "excess KL")
        of_line = ("run", "set", "what", "measured", "theory says", "margin", "verdict")
        checks = "sanity checks: true for every policy; a violation means an error in the records"
        predicted = "predictions, which training may fail to meet"
        pass_at_k = "Pass@k, means over seeds and prompts +- half of a 95% band over both"
        rows = [row.cells(ks) for row in self.pass_at_k]
        return [
            Table.from_rows(of_pass, rows, pass_at_k),
            Table.from_rows(of_set, [row.cells() for row in self.measured], "measured, means over prompts"),
            Table.from_rows(of_line, map(_cells, self.checks), checks),
            Table.from_rows(of_line, map(_cells, self.predictions), predicted),
        ]


def validate(runs: Sequence[Path]) -> Validation:
    """Compare the runs in these folders with the theory.

    Each folder contains a run's evaluation and training records, and `base` beside the folder contains the
    base's evaluation. Raises ValueError for missing or malformed files.
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
        checks=tuple(line for run in measured_runs for line in sanity_checks(run)),
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
    return (line.run, line.set, line.name, *numbers, str(line.verdict))


def _along_training(run: MeasuredRun) -> list[dict[str, float | None]]:
    """Collapse-meter values (without the prefix "collapse/") of each logged step that has them."""
    prefix = "collapse/"
    return [
        {"step": entry.get("step")}
        | {key.removeprefix(prefix): value for key, value in entry.items() if key.startswith(prefix)}
        for entry in run.training.log
        if f"{prefix}excess_kl" in entry
    ]
