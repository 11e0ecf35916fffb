"""Measurements of a run relative to its initial model, prompt by prompt: the tilt and the frontier."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import special

from dph_theory import kappa
from dph_theory.intervals import MeanEstimate, mean_estimate, smoothed_rate
from dph_theory.meter import excess_kl_estimate
from dph_theory.support.errors import argument_error

from ..evaluation.evaluated_run import EvaluatedSet, Evaluation, PromptAnswers
from ..recipe.folders import Folders
from ..training.trained_run import TrainingRecord

LARGEST_GAIN = 200.0  # Log odds beyond which a gain counts as infinite.
RULE_OF_THREE = 3.0  # An event that never occurred in n draws has a probability below 3/n, at 95%.


class TextSamples(NamedTuple):
    """Samples of one text: rewards in [0, 1] under policy and base, and log pi/a of the policy's samples.

    Prompts that share a text count as one prompt, whose reward is the mean of their rewards.
    """

    policy: Float[np.ndarray, " samples"]
    base: Float[np.ndarray, " base_samples"]
    log_ratio: Float[np.ndarray, " samples"]


def log_odds_gain(texts: Sequence[TextSamples]) -> MeanEstimate:
    """Estimate the rate r of the tilt a exp(r v)/Z from base to policy; inf or -inf if no finite rate fits.

    For samples y of the tilt and y' of the base, d = v(y) - v(y'), the mean of d exp(-r d/2) is 0 (swapping y
    and y' changes its sign), at any number of samples. For rewards 0 and 1 the common root over prompts is
    the log odds ratio of Mantel and Haenszel (1959): log sum V (1-A1) - log sum A1 (1-V).
    """
    pairs = [_differences(text) for text in texts]
    values, shares = (np.concatenate(column) for column in zip(*pairs, strict=True))
    where = np.repeat(np.arange(len(texts)), [len(d) for d, _ in pairs])

    def moments(rate: float, power: int) -> np.ndarray:
        return np.bincount(where, shares * values**power * np.exp(-rate * values / 2))

    if not ((values > 0).any() and (values < 0).any()):
        return MeanEstimate(math.inf if (values > 0).any() else -math.inf, math.inf, len(texts))
    from scipy.optimize import brentq  # The import takes half a second; only runs of KL control need it.

    root = brentq(lambda rate: moments(rate, 1).sum(), -LARGEST_GAIN, LARGEST_GAIN)
    # Delta method: the root shifts by the value of the equation divided by its slope.
    influence = moments(root, 1) / (moments(root, 2).mean() / 2)
    return MeanEstimate(root, mean_estimate(influence).standard_error, len(texts))


def _differences(text: TextSamples) -> tuple[np.ndarray, np.ndarray]:
    """Differences of rewards between policy and base samples, and the share of pairs with each difference."""
    (policy, many), (base, often) = (np.unique(side, return_counts=True) for side in text[:2])
    share = np.multiply.outer(many, often) / (many.sum() * often.sum())
    return np.subtract.outer(policy, base).ravel(), share.ravel()


def distance_to_tilt(texts: Sequence[TextSamples], rate: float) -> MeanEstimate:
    """Estimate KL(pi || a exp(r v)/Z) = E_pi[log pi/a - r v] + log E_a exp(r v), averaged over prompts.

    The logarithm of a sample mean is corrected to first order in the variance. The remaining bias is bounded
    by this correction and, for prompts without a correct base sample, by their largest possible contribution.
    """
    distances = np.array([_distance(text, rate) for text in texts])
    return mean_estimate(distances[:, 0], bias=float(distances[:, 1].mean()))


def _distance(text: TextSamples, rate: float) -> tuple[float, float]:
    n = len(text.base)
    # Weights are divided by exp(r) to prevent overflow.
    weights = np.exp(rate * (text.base - 1))
    correction = float(weights.var()) / (2 * n * float(weights.mean()) ** 2)
    free_energy = rate + math.log(float(weights.mean())) + correction
    value = float((text.log_ratio - rate * text.policy).mean()) + free_energy
    unsolved = 0.0 if text.base.any() else math.log1p(math.expm1(min(rate, 700.0)) * RULE_OF_THREE / n)
    return value, correction + unsolved


EXPLORED, REHEARSED = "explored", "rehearsed"


@dataclass(frozen=True)
class PairedSet:
    """A set of prompts under a run: rewards, and sequence log-probabilities under the run and the base.

    `base_correct` are independent samples of the base, not those that selected the set.
    """

    ids: tuple[str, ...]
    correct: Bool[np.ndarray, "prompts samples"]
    log_pi: Float[np.ndarray, "prompts samples"]
    log_ref: Float[np.ndarray, "prompts samples"]
    base_correct: Bool[np.ndarray, "prompts base_samples"]
    texts: tuple[str, ...] = ()  # The text of each prompt, as a hash; empty if no two are known to agree.
    verdicts: Float[np.ndarray, "prompts samples"] | None = None
    """Mean reward of each sample over all prompts of its text; None if unknown."""
    base_verdicts: Float[np.ndarray, "prompts base_samples"] | None = None

    @property
    def rate(self) -> Float[np.ndarray, " prompts"]:
        """Measured pass rates V(x)."""
        return self.correct.mean(axis=1)

    @property
    def base_rate(self) -> Float[np.ndarray, " prompts"]:
        """Measured base pass rates A1(x)."""
        return self.base_correct.mean(axis=1)

    @property
    def smoothed_base_rate(self) -> Float[np.ndarray, " prompts"]:
        """Base rates (c + 1/2)/(n + 1), which are never 0 or 1."""
        return smoothed_rate(self.base_correct.sum(axis=1), self.base_correct.shape[1])

    @property
    def texts_differ(self) -> bool:
        """Return true if no two prompts share a text, by which alone the policy distinguishes prompts."""
        return len(set(self.texts)) == len(self.texts)

    def by_text(self) -> list[TextSamples]:
        """Rewards and log-ratios, one entry per text over all its prompts; [] without mean rewards."""
        if self.verdicts is None or self.base_verdicts is None:
            return []
        places: dict[str, list[int]] = {}
        for place, text in enumerate(self.texts):
            places.setdefault(text, []).append(place)
        columns = (self.verdicts, self.base_verdicts, self.log_ratio)
        return [TextSamples(*(column[at].ravel() for column in columns)) for at in places.values()]

    @property
    def log_ratio(self) -> Float[np.ndarray, "prompts samples"]:
        """Log pi/pi_ref of the run's samples, whose mean estimates KL(pi || pi_ref) without bias."""
        return self.log_pi - self.log_ref


@dataclass(frozen=True)
class MeasuredRun:
    """The records of a run, and its sets paired with the base's."""

    name: str
    training: TrainingRecord
    evaluation: Evaluation
    sets: Mapping[str, PairedSet]
    base: Mapping[str, EvaluatedSet] = field(default_factory=dict)  # The base's evaluation of the same sets.

    @property
    def anchored(self) -> bool:
        """Return true if the run rehearses answers of the base, correct or incorrect."""
        return bool(self.training.config["presample"].get("anchors"))


def read_runs(folders: Sequence[Path]) -> list[MeasuredRun]:
    """Read the runs in these folders; the base's evaluation is in `base` beside each run.

    Raises ValueError for a missing or malformed file, or for a set without prompts in common with the base's.
    """
    if not folders:
        raise argument_error("runs", [], "at least one run folder")
    measured_runs = []
    for run in map(Folders.at, (folder.resolve() for folder in folders)):
        if run != run.base():
            evaluation = Evaluation.read(run.evaluation)
            base = Evaluation.read(run.base().evaluation, "dph evaluate --base --config ...").sets
            training = TrainingRecord.read(run.training)
            sets = {
                name: paired(f"{run.run} {name}", entry.prompts, base[name].prompts)
                for name, entry in evaluation.sets.items()
                if name in base and entry.prompts
            }
            measured_runs.append(MeasuredRun(run.run, training, evaluation, sets, base))
    if not measured_runs:
        raise argument_error("runs", [*map(str, folders)], "at least one run other than the base's")
    return measured_runs


def paired(name: str, prompts: Sequence[PromptAnswers], base: Sequence[PromptAnswers]) -> PairedSet:
    """Pair two evaluations' prompts by id, in the run's order; ValueError if they share none."""
    of_base = {entry.id: entry for entry in base}
    both = [(entry, of_base[entry.id]) for entry in prompts if entry.id in of_base]
    if not both:
        raise argument_error(
            name, [entry.id for entry in prompts][:3], "prompts that the base's evaluation also contains"
        )

    def table(key: str, side: int = 0, other: str = "") -> np.ndarray:
        rows = [getattr(pair[side], key) or getattr(pair[side], other, ()) for pair in both]
        return _table(f"{name} {('', 'base ')[side]}{key}", rows)

    texts = tuple(entry.question or entry.id for entry, _ in both)
    shared = {text for text, times in Counter(texts).items() if times > 1}
    mean_rewards = [
        entry.mean_correct for pair, text in zip(both, texts, strict=True) if text in shared for entry in pair
    ]
    judged = None not in mean_rewards
    return PairedSet(
        ids=tuple(entry.id for entry, _ in both),
        correct=table("correct").astype(bool),
        log_pi=table("log_pi"),
        log_ref=table("log_ref"),
        base_correct=table("correct", 1).astype(bool),
        texts=texts,
        verdicts=table("mean_correct", 0, "correct") if judged else None,
        base_verdicts=table("mean_correct", 1, "correct") if judged else None,
    )


def _table(name: str, rows: Sequence[Sequence[float]]) -> np.ndarray:
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise argument_error(
            name, sorted(lengths), "the same number of samples, at least one, for every prompt of a set"
        )
    return np.array(rows, dtype=float)


class Frontier(NamedTuple):
    """KL(pi || a), the least cost kl(V || A1) and the excess KL, each of shape (prompts,)."""

    kl: Float[np.ndarray, " prompts"]
    cost: Float[np.ndarray, " prompts"]
    excess: Float[np.ndarray, " prompts"]
    bias: float  # Largest negative bias of the mean excess for this number of samples.

    @property
    def mean_excess(self) -> MeanEstimate:
        """Mean excess KL over prompts in nats, with the standard error over prompts."""
        return mean_estimate(self.excess, bias=self.bias)


def frontier(measured: PairedSet) -> Frontier:
    """Compute each prompt's excess KL: the collapse meter with base rates that were sampled too.

    The cost contains log A1 and log A0. For c of n correct base samples, log((c + 1/2)/(n + 1/2)) estimates
    log A1 with bias O(1/n^2); if A1 n is below about 1 the estimate is too high, so that the excess is
    overestimated and no false violation arises. The meter takes one rate, (c + 1/2)/(n + 1): both logarithms
    differ by a constant, which is added back. Source: Haldane (1956), Anscombe (1956), for the empirical
    logit.
    """
    n = measured.base_correct.shape[1]
    kl = measured.log_ratio.mean(axis=1)
    meter = excess_kl_estimate(
        measured.correct, measured.log_ratio, np.zeros_like(measured.log_ratio), measured.smoothed_base_rate
    )
    excess = meter.excess + math.log((n + 1) / (n + 0.5))
    return Frontier(kl, kl - excess, excess, meter_bias(measured.correct.shape[1]))


def least_cost(measured: PairedSet, level: float) -> Float[np.ndarray, " prompts"]:
    """Minimise kl(V || A1) for each prompt over the confidence intervals of V and A1 at the given level.

    The intervals are exact (Clopper and Pearson, 1934): prompts with unanimous samples, or rarely solved by
    the base, cause no false violation. Because kl grows with the distance between V and A1, the minimum is at
    the facing endpoints of the intervals, or 0 if the intervals overlap.
    """
    low, high = _interval(measured.correct, level)
    base_low, base_high = _interval(measured.base_correct, level)
    facing, base_facing = np.where(low > base_high, low, high), np.where(low > base_high, base_high, base_low)
    apart = (low > base_high) | (high < base_low)
    return np.where(apart, kappa(np.where(apart, facing, 0.5), np.where(apart, base_facing, 0.5)), 0.0)


def _interval(correct: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    count, n = correct.sum(axis=1), correct.shape[1]
    low = np.where(count > 0, special.betaincinv(np.maximum(count, 1), n - count + 1, level / 2), 0.0)
    high = np.where(count < n, special.betainccinv(count + 1, np.maximum(n - count, 1), level / 2), 1.0)
    return low, high


@lru_cache
def meter_bias(samples: int) -> float:
    """Largest negative bias of the collapse meter for this number of samples, over all pass rates.

    Only the entropy of V in kl(V || A1) is estimated with a bias. The bias is summed exactly over the counts
    c of correct samples. V is on a grid of quantiles, fine near 0, where the bias is largest at V ~ 1/n.
    """
    count = np.arange(samples + 1)
    correct, zero = np.arange(samples) < count[:, None], np.zeros((samples + 1, samples))
    estimated = -excess_kl_estimate(correct, zero, zero, np.full(samples + 1, 0.5)).excess
    rate = np.geomspace(1e-3 / samples, 0.5, 400)
    shares = special.comb(samples, count) * rate[:, None] ** count * (1 - rate[:, None]) ** (samples - count)
    return max(0.0, float((shares @ estimated - kappa(rate, 0.5)).max()))
