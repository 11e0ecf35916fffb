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
from ..transfer import AnswerKernel, Course, Hold, Method, group_drive, linearised_training
from .evidence import forecast_errors
from .reading import Configuration

SEEDS, FEW = 8, 3
"""Trainings side by side, and of each other setting of the frontier."""
SOLVED = 0.6
"""The pass rate from which a prompt is one that DPH rehearses."""
_LOST, _HAD = 0.1, 0.5
"""A prompt is lost whose Pass@k falls to less than this share of what it was, if it had that much."""
_STRENGTHS = (0.1, 0.3, 1.0, 3.0)
_ANCHORS, _PUSHERS, _NAMED = 4, 3, 10
_HELD = "trained prompts constrained to the base"
_KLS = {"forward KL (k3)": FORWARD_KL, "reverse KL (k2)": REVERSE_KL}


@dataclass(frozen=True)
class Way:
    """A set of prompts along a run: Pass@1 and Pass@k now, half way and at its end: mean, deviation."""

    name: str
    trained: bool
    first: tuple[tuple[float, float], ...]
    passed: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Choice:
    """Another setting at its end: Pass@1 and Pass@k of the trained prompts and of the held-out ones."""

    setting: str
    trained: tuple[float, float]
    held_out: tuple[float, float]


@dataclass(frozen=True, repr=False)
class Forecast(Shown):
    """What a run is predicted to do to prompts that share its model.

    `ways`, a row a set; `lost`, held-out prompts that the run loses and `pushing`, the trained ones whose
    gradients push these down most; `choices`, what other settings would come to in as many steps, the user's
    own first.
    """

    k: int
    steps: int
    step: float
    ways: tuple[Way, ...]
    lost: tuple[str, ...]
    pushing: tuple[str, ...]
    choices: tuple[Choice, ...]
    sampled: bool

    def summary(self) -> str:
        """Pass@k of each set at both ends."""
        return "\n".join(
            f"{way.name}: Pass@{self.k} {way.passed[0][0]:.3f} -> {way.passed[-1][0]:.3f}"
            for way in self.ways
        )

    def tables(self) -> list[Table]:
        """The other settings, what they come to."""
        head = ("setting", "trained @1", f"trained @{self.k}", "held out @1", f"held out @{self.k}")
        return [Table.of(head, [(c.setting, *_rounded(*c.trained, *c.held_out)) for c in self.choices])]

    def lines(self, kernel: str) -> list[str]:
        """The forecast in a few lines: a table, what is lost and by whom, what would retain more."""
        head = (
            f"In one model ({kernel}), {self.steps} steps of Adam at a constant {self.step:g}; +- over seeds:"
        )
        said = [head, f"{'':31}{'base now':>10}{'half way':>18}{'at the end':>18}"]
        for way in self.ways:
            for name, cells in (("Pass@1", way.first), (f"Pass@{self.k}", way.passed)):
                now, *later = cells
                row = "".join(f"{f'{mean:.3f} +- {spread:.3f}':>18}" for mean, spread in later)
                said.append(f"{way.name[:21]:22}{name:9}{now[0]:>10.3f}{row}")
        if self.lost:
            more = f" and {len(self.lost) - _NAMED} more" if len(self.lost) > _NAMED else ""
            said.append(f"Lost: {', '.join(self.lost[:_NAMED])}{more}.")
            if self.pushing:
                said.append(f"Pushed down most by training {', '.join(self.pushing)}.")
        own = self.choices[0]
        better = self.better()[:3]
        if better:
            said.append(
                f"Retains more, held out Pass@{self.k} for {own.held_out[1]:.3f} at trained Pass@1 "
                f"{own.trained[0]:.3f}:"
            )
        for choice in better:
            said.append(
                f"  {choice.setting}: {choice.held_out[1]:.3f}, trained Pass@1 {choice.trained[0]:.3f}"
            )
        off = forecast_errors()
        held = any(_HELD in choice.setting for choice in better)
        with_held = f"; with {_HELD} {off.held:+.3f} (mean)" if held else ""
        typical = f"off by {off.rms:.3f} (rms, {off.settings} methods)"
        said.append(f"On {off.model} such forecasts were {typical}{with_held}.")
        if self.sampled:
            said.append("From sampled answers, on one SQL task: the sign was right, the size was not.")
        return said

    def better(self) -> list[Choice]:
        """Other settings that retain more of held-out Pass@k than the user's, the most first."""
        own, *others = self.choices
        found = [each for each in others if each.held_out[1] > own.held_out[1] + 0.01]
        return sorted(found, key=lambda each: -each.held_out[1])


def _rounded(*values: float) -> tuple[float, ...]:
    return tuple(round(value, 3) for value in values)


def method_of(found: Configuration) -> Method:
    """The run's method as the linearised model is trained by it; ValueError where that is not known."""
    if found.undecided or found.scale not in SCALES:
        why = found.unpredicted or f"the advantage is {found.advantage}"
        raise ValueError(f"no forecast: {why}")
    term, beta = found.term, found.coefficient
    divergence = None if term is None or not beta else term.divergence
    if beta and divergence is None:
        raise ValueError("no forecast: the gradient of this KL term is not known")
    scale = "none" if found.scale is None else found.scale
    in_reward = bool(beta) and term is not None and not term.token
    return Method(scale, found.group_size or 2, beta, divergence, in_reward, mixed_only=found.mixed_only)


def forecast(
    kernel: AnswerKernel,
    method: Method,
    *,
    steps: int,
    learning_rate: float,
    k: int = 8,
    held_out: str | None = None,
    batch: int | None = None,
    frontier: bool = True,
    seed: int = 0,
) -> Forecast:
    """What a run does to the prompts of a kernel, those of its first set trained.

    Parameters: kernel, as `dph transfer` measures it; method, of `method_of`; steps, of Adam at a constant
    `learning_rate`, whose length along the gradient the kernel has; k; held_out, the one set to be
    shown beside the trained; batch, prompts a step, by default all; frontier, whether other settings are
    tried. Returns a Forecast. Raises ValueError for a set that the kernel lacks, and for a kernel without the
    length of a step. Source: ours, theory N.
    """
    if "adam" not in kernel.about:
        raise argument_error(
            "kernel", repr(kernel), "one that dph transfer measured, which gives Adam's step"
        )
    first, *others = dict.fromkeys(kernel.sets)
    if held_out is not None and held_out not in others:
        raise argument_error("held_out", held_out, f"one of {', '.join(others) or 'none: all are trained'}")
    trained, told = kernel.of(first), [held_out] if held_out else others
    how: dict[str, Any] = {"steps": steps, "step": learning_rate * kernel.about["adam"], "batch": batch}
    course = linearised_training(kernel, method, trained, seeds=SEEDS, seed=seed, **how)
    sets = {first: trained, **{name: kernel.of(name) for name in told}}
    ways = tuple(_way(course, name, some, k, name == first) for name, some in sets.items())
    beside = np.concatenate([sets[name] for name in told]) if told else trained
    lost, pushing = _lost(kernel, course, method, trained, beside, k)
    ends = [("these settings", course)]
    if frontier:
        for setting, other in _others(kernel, method, trained, np.random.default_rng(seed)):
            ends.append((setting, linearised_training(kernel, other, trained, seeds=FEW, seed=seed, **how)))
    ks = np.array([1, k])
    choices = [
        Choice(name, *(_pair(of.pass_at_k(some, ks)[:, -1]) for some in (trained, beside)))
        for name, of in ends
    ]
    sampled = str(kernel.about.get("answers", "")).endswith("sampled")
    return Forecast(k, steps, learning_rate, ways, lost, pushing, tuple(choices), sampled)


def _pair(values: np.ndarray) -> tuple[float, float]:
    first, passed = values.mean(axis=0).tolist()
    return first, passed


def _way(course: Course, name: str, some: np.ndarray, k: int, trained: bool) -> Way:
    found = course.pass_at_k(some, np.array([1, k]))
    places = (0, found.shape[1] // 2, found.shape[1] - 1)
    mean, spread = found.mean(axis=0)[[*places]], found.std(axis=0, ddof=1)[[*places]]
    cells = [tuple(zip(mean[:, i].tolist(), spread[:, i].tolist(), strict=True)) for i in (0, 1)]
    return Way(name, trained, cells[0], cells[1])


def _lost(
    kernel: AnswerKernel, course: Course, method: Method, trained: np.ndarray, beside: np.ndarray, k: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The prompts whose Pass@k is gone, the most first, and which trained prompts push them down."""
    start, end = course.rates[:, 0].mean(axis=0), course.rates[:, -1].mean(axis=0)
    had, has = (exact_pass_at_k(of, k) for of in (start, end))
    gone = beside[(had[beside] >= _HAD) & (has[beside] < _LOST * had[beside])]
    gone = gone[np.argsort(has[gone] - had[gone])]
    coupling, rates = kernel.log_odds
    drive = group_drive(method.group_size, rates[trained], method.scale)
    pushes = (coupling[np.ix_(gone, trained)] * drive).sum(axis=0)
    order = [i for i in np.argsort(pushes)[:_PUSHERS] if pushes[i] < 0] if gone.size else []
    return tuple(kernel.names[i] for i in gone), tuple(kernel.names[trained[i]] for i in order)


def _others(
    kernel: AnswerKernel, method: Method, trained: np.ndarray, generator: np.random.Generator
) -> Iterator[tuple[str, Method]]:
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
            yield (
                f"rehearse {len(solved)} solved, {eta:g}",
                replace(plain, holds=(Hold(solved, FORWARD_KL, eta),)),
            )
    left = [i for i in trained.tolist() if i not in solved]
    if len(left) > 2 * _ANCHORS:
        few = tuple(sorted(generator.choice(left, _ANCHORS, replace=False).tolist()))
        for eta in _STRENGTHS[1:3]:
            hold = Hold(few, FORWARD_KL, eta, correct_only=False)
            yield f"{_ANCHORS} {_HELD}, {eta:g}", replace(plain, holds=(hold,))
