"""Prompts that share one model: what a run does to Pass@k, by the kernel of the base's answers.

The linearised model (`transfer.linearised_training`) is trained by the run's own method, on the base alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..coverage import exact_pass_at_k
from ..divergences import FORWARD_KL, REVERSE_KL
from ..stationary.groups import SCALES
from ..support.errors import argument_error
from ..support.notebook import Shown
from ..support.table import Table
from ..transfer import AnswerKernel, Hold, LinearisedMethod, TrainingCurves, group_drive, linearised_training
from .configuration import Configuration
from .stored_runs import forecast_errors

SEEDS, FEW = 8, 3
"""Trainings side by side, and of each other setting of the frontier."""
SOLVED = 0.6
"""The pass rate from which a prompt is one that DPH rehearses."""
_LOST, _HAD = 0.1, 0.5
"""A prompt is lost whose Pass@k falls to less than this share of what it was, if it had that much."""
_STRENGTHS = (0.1, 0.3, 1.0, 3.0)
_ANCHORS, _PUSHERS, _NAMED = 4, 3, 10
_CONSTRAINED = "trained prompts constrained to the base"
_KLS = {"forward KL (k3)": FORWARD_KL, "reverse KL (k2)": REVERSE_KL}


@dataclass(frozen=True)
class SetForecast:
    """A set of prompts along a run: Pass@1 and Pass@k now, half way and at its end: mean, deviation."""

    name: str
    trained: bool
    pass_at_1: tuple[tuple[float, float], ...]
    pass_at_k: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class SettingOutcome:
    """A setting at its end: Pass@1 and Pass@k of the trained prompts and of the held-out ones."""

    setting: str
    trained: tuple[float, float]
    held_out: tuple[float, float]


@dataclass(frozen=True, repr=False)
class SharedModelForecast(Shown):
    """What a run is predicted to do to prompts that share its model.

    `sets`, its prompts; `lost`, held-out ones that the run loses and `pushing`, the trained ones whose
    gradients push these down most; `choices`, what other settings would come to in as many steps, the user's
    own first.
    """

    k: int
    steps: int
    step: float
    sets: tuple[SetForecast, ...]
    lost: tuple[str, ...]
    pushing: tuple[str, ...]
    choices: tuple[SettingOutcome, ...]
    sampled: bool

    def summary(self) -> str:
        """Pass@k of each set at both ends."""
        ends = {row.name: (row.pass_at_k[0][0], row.pass_at_k[-1][0]) for row in self.sets}
        return "\n".join(f"{name}: Pass@{self.k} {now:.3f} -> {end:.3f}" for name, (now, end) in ends.items())

    def tables(self) -> list[Table]:
        """The other settings, what they come to."""
        head = ("setting", "trained @1", f"trained @{self.k}", "held out @1", f"held out @{self.k}")
        rows: list[tuple[str | float, ...]] = []
        for choice in self.choices:
            rows.append((choice.setting, *(round(rate, 3) for rate in (*choice.trained, *choice.held_out))))
        return [Table.from_rows(head, rows)]

    def lines(self, kernel: str) -> list[str]:
        """The forecast in a few lines: a table, what is lost and by whom, what would retain more."""
        training = f"{self.steps} steps of Adam at a constant {self.step:g}"
        head = f"In one model ({kernel}), {training}; +- over seeds:"
        lines = [head, f"{'':31}{'base now':>10}{'half way':>18}{'at the end':>18}"]
        for row in self.sets:
            for name, rates in (("Pass@1", row.pass_at_1), (f"Pass@{self.k}", row.pass_at_k)):
                (now, _), *later = rates
                cells = "".join(f"{f'{mean:.3f} +- {spread:.3f}':>18}" for mean, spread in later)
                lines.append(f"{row.name[:21]:22}{name:9}{now:>10.3f}{cells}")
        if self.lost:
            more = f" and {len(self.lost) - _NAMED} more" if len(self.lost) > _NAMED else ""
            lines.append(f"Lost: {', '.join(self.lost[:_NAMED])}{more}.")
            if self.pushing:
                lines.append(f"Pushed down most by training {', '.join(self.pushing)}.")
        better = self.better()[:3]
        if better:
            price, had = self.choices[0].trained[0], self.choices[0].held_out[1]
            lines.append(f"Retains more, held out Pass@{self.k} for {had:.3f} at trained Pass@1 {price:.3f}:")
        for choice in better:
            price, has = choice.trained[0], choice.held_out[1]
            lines.append(f"  {choice.setting}: {has:.3f}, trained Pass@1 {price:.3f}")
        errors = forecast_errors()
        typical = f"off by {errors.rms:.3f} (rms, {errors.settings} methods)"
        if any(_CONSTRAINED in choice.setting for choice in better):
            typical += f"; with {_CONSTRAINED} {errors.constrained:+.3f} (mean)"
        lines.append(f"On {errors.model} such forecasts were {typical}.")
        if self.sampled:
            lines.append("From sampled answers, on one SQL task: the sign was right, the size was not.")
        return lines

    def better(self) -> list[SettingOutcome]:
        """Other settings that retain more of held-out Pass@k than the user's, the most first."""
        own, *alternatives = self.choices
        improved = [choice for choice in alternatives if choice.held_out[1] > own.held_out[1] + 0.01]
        return sorted(improved, key=lambda choice: -choice.held_out[1])


def method_of(configuration: Configuration) -> LinearisedMethod:
    """The run's method as the linearised model is trained by it; ValueError where that is not known."""
    if configuration.undecided or configuration.scale not in SCALES:
        why = configuration.unpredicted or f"the advantage is {configuration.advantage}"
        raise ValueError(f"no forecast: {why}")
    term, beta = configuration.term, configuration.coefficient
    divergence = None if term is None or not beta else term.divergence
    if beta and divergence is None:
        raise ValueError("no forecast: the gradient of this KL term is not known")
    scale, size = configuration.scale or "none", configuration.group_size or 2
    in_reward = bool(beta) and term is not None and not term.token
    return LinearisedMethod(scale, size, beta, divergence, in_reward, mixed_only=configuration.mixed_only)


def forecast(
    kernel: AnswerKernel,
    method: LinearisedMethod,
    *,
    steps: int,
    learning_rate: float,
    k: int = 8,
    held_out: str | None = None,
    batch: int | None = None,
    frontier: bool = True,
    seed: int = 0,
) -> SharedModelForecast:
    """What a run does to the prompts of a kernel, those of its first set trained.

    Parameters: kernel, as `dph transfer` measures it; method, of `method_of`; steps, of Adam at a constant
    `learning_rate`, whose length along the gradient the kernel has; k; held_out, the one set to be
    shown beside the trained; batch, prompts a step, by default all; frontier, whether other settings are
    tried. Returns a SharedModelForecast. Raises ValueError for a set that the kernel lacks, and for a kernel
    without the length of a step. Source: ours, theory N.
    """
    if "adam" not in kernel.about:
        allowed = "one that dph transfer measured, which gives Adam's step"
        raise argument_error("kernel", repr(kernel), allowed)
    first, *untrained = dict.fromkeys(kernel.sets)
    if held_out is not None and held_out not in untrained:
        allowed = f"one of {', '.join(untrained) or 'none: all are trained'}"
        raise argument_error("held_out", held_out, allowed)
    trained, shown = kernel.prompts_in(first), [held_out] if held_out else untrained
    training: dict[str, Any] = {"steps": steps, "step": learning_rate * kernel.about["adam"], "batch": batch}
    curves = linearised_training(kernel, method, trained, seeds=SEEDS, seed=seed, **training)
    sets = {first: trained, **{name: kernel.prompts_in(name) for name in shown}}
    forecasts = [_set_forecast(name, curves, prompts, k, first) for name, prompts in sets.items()]
    shown_prompts = np.concatenate([sets[name] for name in shown]) if shown else trained
    lost = _lost(curves, shown_prompts, k)
    ends = [("these settings", curves)]
    if frontier:
        for setting, other in _alternatives(kernel, method, trained, np.random.default_rng(seed)):
            end = linearised_training(kernel, other, trained, seeds=FEW, seed=seed, **training)
            ends.append((setting, end))
    choices = [
        SettingOutcome(setting, _end_rates(end, trained, k), _end_rates(end, shown_prompts, k))
        for setting, end in ends
    ]
    return SharedModelForecast(
        k=k,
        steps=steps,
        step=learning_rate,
        sets=tuple(forecasts),
        lost=tuple(kernel.names[i] for i in lost),
        pushing=tuple(kernel.names[i] for i in _pushing(kernel, method, trained, lost)),
        choices=tuple(choices),
        sampled=str(kernel.about.get("answers", "")).endswith("sampled"),
    )


def _end_rates(curves: TrainingCurves, prompts: np.ndarray, k: int) -> tuple[float, float]:
    """Pass@1 and Pass@k at the end, the mean over seeds."""
    first, passed = curves.pass_at_k(prompts, np.array([1, k]))[:, -1].mean(axis=0).tolist()
    return first, passed


def _set_forecast(name: str, curves: TrainingCurves, prompts: np.ndarray, k: int, first: str) -> SetForecast:
    rates = curves.pass_at_k(prompts, np.array([1, k]))
    times = [0, rates.shape[1] // 2, rates.shape[1] - 1]
    means, spreads = rates.mean(axis=0)[times].T.tolist(), rates.std(axis=0, ddof=1)[times].T.tolist()
    pass_at_1, pass_at_k = (tuple(zip(means[i], spreads[i], strict=True)) for i in (0, 1))
    return SetForecast(name, name == first, pass_at_1, pass_at_k)


def _lost(curves: TrainingCurves, prompts: np.ndarray, k: int) -> np.ndarray:
    """The prompts whose Pass@k is gone, those that lose most first."""
    start, end = (curves.rates[:, i].mean(axis=0)[prompts] for i in (0, -1))
    had, has = exact_pass_at_k(start, k), exact_pass_at_k(end, k)
    gone = np.flatnonzero((had >= _HAD) & (has < _LOST * had))
    return prompts[gone[np.argsort(has[gone] - had[gone])]]


def _pushing(
    kernel: AnswerKernel, method: LinearisedMethod, trained: np.ndarray, lost: np.ndarray
) -> list[int]:
    """The trained prompts whose gradients push the lost ones down most."""
    coupling, rates = kernel.log_odds
    drive = group_drive(method.group_size, rates[trained], method.scale)
    pushes = (coupling[np.ix_(lost, trained)] * drive).sum(axis=0)
    return [int(trained[i]) for i in np.argsort(pushes)[:_PUSHERS] if pushes[i] < 0]


def _alternatives(
    kernel: AnswerKernel, method: LinearisedMethod, trained: np.ndarray, generator: np.random.Generator
) -> Iterator[tuple[str, LinearisedMethod]]:
    """Other settings: each kind of KL, rehearsal of solved prompts, and a few prompts held at the base."""
    plain = replace(method, beta=0.0, divergence=None, in_reward=False, holds=())
    yield "no KL", plain
    for name, divergence in _KLS.items():
        for beta in _STRENGTHS:
            yield f"{name}, {beta:g}", replace(plain, beta=beta, divergence=divergence)
    rates = kernel.log_odds.rates
    solved = tuple(int(i) for i in trained if rates[i] >= SOLVED)
    if solved and len(solved) < len(trained):
        for eta in _STRENGTHS[1:3]:
            hold = Hold(solved, FORWARD_KL, eta)
            yield f"rehearse {len(solved)} solved, {eta:g}", replace(plain, holds=(hold,))
    left = [i for i in trained.tolist() if i not in solved]
    if len(left) > 2 * _ANCHORS:
        few = tuple(sorted(generator.choice(left, _ANCHORS, replace=False).tolist()))
        for eta in _STRENGTHS[1:3]:
            hold = Hold(few, FORWARD_KL, eta, correct_only=False)
            yield f"{_ANCHORS} {_CONSTRAINED}, {eta:g}", replace(plain, holds=(hold,))
