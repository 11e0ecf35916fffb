"""Theory against training as one record and as tables, and methods side by side."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from dph_theory.checkpoints.pass_at_k import curves
from dph_theory.support.record import as_json, record
from dph_theory.support.table import Table

from ..evaluation.record import EvaluatedSet, PromptAnswers, Summary, entropy_of
from .instrument_checks import instrument_checks
from .measurements import MeasuredRun, PairedSet, frontier, read_runs
from .predictions import predictions, untested
from .verdicts import THREE_SIGMA, Judgement, Line, MeanEstimate

COLUMNS = ("greedy", "Pass@1", "Pass@8", "Pass@32", "styles kept", "retention", "excess KL")
KS = (1, 2, 4, 8, 16, 32)
BASE, GRPO, REHEARSING = "base", "GRPO", "DPH"
Evaluations = Mapping[str, Sequence[EvaluatedSet]]
"""The evaluated set of each seed of each method, and of the base."""
Measure = Callable[[Sequence[PromptAnswers]], Sequence[float] | np.ndarray]
"""Of prompts, a number of each."""


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
        by_seed = pandas.DataFrame([_numbers(seed.summary) for seed in seeds]).astype(float)
        by_seed["excess KL"] = excess[name]
        found[name] = {key: Column(tuple(values.dropna().tolist())) for key, values in by_seed.items()}
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
    """The sign if it is established, or 0."""


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
    found = []
    for before, after, key in pairs:
        gap = difference(evaluations[before], evaluations[after], measures[key])
        sign = 0 if abs(gap.value) <= gap.margin() else int(np.sign(gap.value))
        higher, lower = before == GRPO or key == "Pass@1", after == GRPO
        expected = 1 if higher else -1 if lower else 0
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


def difference(before: Sequence[EvaluatedSet], after: Sequence[EvaluatedSet], of: Measure) -> MeanEstimate:
    """The mean of a measure after minus before, over seeds and questions, both counted as drawn at random.

    A prompt is compared with itself, and a seed with the same seed of the other method (the base, evaluated
    once, stands for each).
    """
    count = max(len(before), len(after))
    first, second = (
        _by_question([side[at % len(side)] for at in range(count)], of) for side in (before, after)
    )
    return _mean(second - first)


def _by_question(seeds: Sequence[EvaluatedSet], of: Measure) -> pandas.DataFrame:
    """A measure by seed and question.

    Prompts of one text, asked of several databases, are one question: a policy cannot tell them apart.
    """
    rows = [
        (seed, prompt.question, value)
        for seed, found in enumerate(seeds)
        for prompt, value in zip(found.prompts, of(found.prompts), strict=True)
    ]
    found = pandas.DataFrame(rows, columns=["seed", "question", "value"])
    return found.pivot_table("value", "seed", "question", sort=False)


def _mean(found: pandas.DataFrame) -> MeanEstimate:
    """The mean over seeds and those questions that all of them have, both counted as drawn at random.

    The squared error is that over questions plus that over seeds, its degrees of freedom Satterthwaite's
    (1946); a single seed has no error of its own.
    """
    values = found.dropna(axis=1).to_numpy()
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

    @classmethod
    def of(cls, run: str, name: str, here: PairedSet) -> "SetMeasured":
        """The means of a set."""
        found = frontier(here)
        rate, base, kl, cost = (float(x.mean()) for x in (here.rate, here.base_rate, found.kl, found.cost))
        excess = found.mean_excess
        return cls(run, name, rate, base, kl, cost, excess.value, excess.standard_error)

    def cells(self) -> tuple[str, ...]:
        """The row of a table; an unbiased estimate of the least KL may lie below 0, the least KL does not."""
        least = max(0.0, self.cost)
        shown = (self.validity, self.base_validity, self.kl, least, self.kl - least)
        return (self.run, self.set, *(f"{number:.3f}" for number in shown))


WIDE = 10.0
"""A margin so many times as wide as what it is about is none."""
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

    def cells(self, ks: Sequence[str]) -> tuple[str | float, ...]:
        """The row of a table."""
        bands = {
            k: f"{value:.3f}" + (f" +- {self.margin[k]:.3f}" if math.isfinite(self.margin[k]) else "")
            for k, value in self.value.items()
        }
        return (self.set, self.run, self.seeds, self.prompts, *(bands.get(k, "") for k in ks))


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
            means = {str(k): _mean(_by_question(sets, partial(_pass, k=k))) for k in KS if k <= samples}
            values = {k: one.value for k, one in means.items()}
            margins = {k: one.margin(level=BAND) for k, one in means.items()}
            found.append(PassAtK(of, name, len(sets), len(sets[0].prompts), values, margins))
    return found


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
    laws: tuple[str, ...] = ()
    """Of each run where it converges to, or why that is not known, and what was not tested."""

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
        return [told, *self.laws, f"{judged} Inconsistent: {', '.join(kinds)}." if kinds else judged]

    def as_record(self) -> dict[str, Any]:
        """The record that is stored."""
        results = {key: value for key, value in as_json(self).items() if key != "runs"}
        return record(
            KIND,
            seed=0,
            config={"runs": list(self.runs), "level": THREE_SIGMA},
            results=results,
            findings=self.sentences(),
            packages=("numpy", "scipy", "torch"),
        )

    def tables(self) -> list[Table]:
        """Pass@k, what was measured on each set of each run, the checks and the predictions, judged."""
        ks = list(dict.fromkeys(k for row in self.pass_at_k for k in row.value))
        of_pass = ("set", "run", "seeds", "prompts", *(f"Pass@{k}" for k in ks))
        of_set = ("run", "set", "validity", "base", "KL", "least KL", "excess KL")
        of_line = ("run", "set", "what", "theory", "measured", "theory says", "margin", "verdict", "")
        checks = "instrument checks: hold for every policy; a violation is an alarm"
        rows = [row.cells(ks) for row in self.pass_at_k]
        return [
            Table.of(of_pass, rows, "Pass@k, means over seeds and prompts +- half of a 95% band over both"),
            Table.of(of_set, [row.cells() for row in self.measured], "measured, means over prompts"),
            Table.of(of_line, map(_cells, self.checks), checks),
            Table.of(of_line, map(_cells, self.predictions), "predictions: training could have missed them"),
        ]


def compare(runs: Sequence[Path]) -> Comparison:
    """Hold the runs of these folders against the theory.

    A run's evaluation and training records are read from its folder, the base's evaluation from `base`
    beside it. ValueError for missing or malformed files.
    """
    found = read_runs(runs)
    sets = [(run.name, *item) for run in found for item in run.sets.items()]
    return Comparison(
        tuple(run.name for run in found),
        tuple(pass_at_k_of(found)),
        tuple(SetMeasured.of(*each) for each in sets if each[-1].correct.shape[1] >= 2),
        tuple(line for run in found for line in instrument_checks(run)),
        tuple(line for run in found for line in predictions(run)),
        {run.name: _along_training(run) for run in found},
        tuple(sentence for run in found for sentence in untested(run)),
    )


def _counts(lines: Sequence[Line]) -> str:
    return ", ".join(f"{sum(line.verdict is one for line in lines)} {one}" for one in Judgement)


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
