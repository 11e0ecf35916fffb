"""Prompts that share one model: what a run does to Pass@k, by the kernel of the base's answers.

The linearised model (`transfer.linearised_training`) is trained by the run's own method, on the base alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..coverage import exact_pass_at_k
from ..divergences import FORWARD_KL, REVERSE_KL
from ..support.display import Shown
from ..support.errors import argument_error
from ..support.table import Table
from ..transfer import AnswerKernel, Hold, LinearisedMethod, TrainingCurves, linearised_trainings
from ..transfer.linearised import HOLDS_TO
from .stored_runs import course, forecast_errors, setting_rows

SEEDS, FEW = 8, 3
"""Trainings side by side, and of each other setting of the frontier."""
SOLVED = 0.6
"""The pass rate from which a prompt is one that DPH rehearses."""
_LOST, _HAD = 0.1, 0.5
"""A prompt is lost whose Pass@k falls to less than this share of what it was, if it had that much."""
_STRENGTHS = (0.1, 0.3, 1.0, 3.0)
_ANCHORS, _NAMED = 4, 3
_CONSTRAINED = f"forward KL to the base on {_ANCHORS} prompts"
_KLS = {"forward KL in the loss (k3)": FORWARD_KL, "reverse KL in the loss (k2)": REVERSE_KL}


@dataclass(frozen=True)
class SetForecast:
    """A set of prompts along a run: Pass@1 and Pass@k now, half way and at its end: mean, deviation."""

    name: str
    trained: bool
    pass_at_1: tuple[tuple[float, float], ...]
    pass_at_k: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class SettingOutcome:
    """A setting at its end: Pass@1 and Pass@k of the trained prompts and of the held-out ones.

    Where no prompt is held out, the trained ones stand for them.
    """

    setting: str
    trained: tuple[float, float]
    held_out: tuple[float, float]


@dataclass(frozen=True, repr=False)
class SharedModelForecast(Shown):
    """Forecast of Pass@1 and Pass@k of prompts that share one model, for a run and for other settings.

    Attributes:
        k: Number of answers in Pass@k.
        steps: Number of training steps.
        step: Learning rate of Adam.
        sets: Forecast for each set of prompts, the trained set first.
        first_move: Root mean square change of the prompts' log odds by the first step.
        lost: Names of the held-out prompts whose Pass@k the run loses.
        base: Pass rates before training.
        choices: Pass rates after `steps` steps, the user's settings first.
        overflowing: Settings whose forecast is not finite.
        sampled: True if the kernel was measured on sampled answers.
    """

    k: int
    steps: int
    step: float
    sets: tuple[SetForecast, ...]
    first_move: float
    lost: tuple[str, ...]
    base: SettingOutcome
    choices: tuple[SettingOutcome, ...]
    overflowing: tuple[str, ...]
    sampled: bool

    def summary(self) -> str:
        """Lines "set: Pass@k before -> after", one per set of prompts."""
        ends = {row.name: (row.pass_at_k[0][0], row.pass_at_k[-1][0]) for row in self.sets}
        return "\n".join(f"{name}: Pass@{self.k} {now:.3f} -> {end:.3f}" for name, (now, end) in ends.items())

    def tables(self) -> list[Table]:
        """Tables of each set's Pass@1 and Pass@k along the run, and of the outcome of other settings."""
        along = list[tuple[str, ...]]()
        for row in self.sets:
            for name, rates in (("Pass@1", row.pass_at_1), (f"Pass@{self.k}", row.pass_at_k)):
                (now, _), *later = rates
                cells = (f"{mean:.3f} +- {spread:.3f}" for mean, spread in later)
                along.append((row.name, name, f"{now:.3f}", *cells))
        head = ("setting", "trained @1", f"trained @{self.k}", "held out @1", f"held out @{self.k}")
        ends = [
            (row.setting, *(f"{rate:.3f}" for rate in (*row.trained, *row.held_out))) for row in self.choices
        ]
        measures = ("prompts", "measure", "base now", "half way", "at the end")
        return [Table.from_rows(measures, along), Table.from_rows(head, ends)]

    def lines(self, kernel: str) -> list[str]:
        """Sentences on the change of Pass@k, its typical error, better settings, and prompts lost."""
        measure = f"{'held-out' if len(self.sets) > 1 else 'trained'} Pass@{self.k}"
        own, better, errors = self.choices[0], self.better()[:3], forecast_errors()
        base, end = self.base.held_out[1], own.held_out[1]
        opening = "Direction only: expect" if self.beyond else "Expect"
        lines = [
            f"{opening} {measure} to {course(base, end)}: {base:.3f} to {end:.3f}, {self.steps} steps of "
            f"Adam at {self.step:g}; first-step change of log odds: {self.first_move:.2g} "
            f"({Path(kernel).name})."
        ]
        domain, word = errors["beyond" if self.beyond else "within"], "above" if self.beyond else "below"
        error = f"First steps {word} {HOLDS_TO:g}: {domain['settings']} forecasts"
        error += f" erred by {domain['rms']:.3f} (rms)"
        if self.beyond:
            error += f", in direction {domain['moved'] - domain['right']} of {domain['moved']}"
        if len(self.sets) <= 2:  # Of several held-out sets together the deviation is not known.
            error += f"; seeds alone by {self.sets[-1].pass_at_k[-1][1]:.3f}"
        if any(choice.setting.startswith(_CONSTRAINED) for choice in better):
            error += f"; a KL on few prompts {errors['constrained']:+.3f}, in the mean"
        lines.append(f"{error}.")
        if self.sampled:
            lines.append("From sampled answers, on one SQL task, the sign was right and the size was not.")
        outcomes = [replace(self.base, setting="the base"), own, *better]
        rows = [(row.setting, row.held_out[1], row.trained[0]) for row in outcomes]
        return [*lines, *setting_rows(measure, rows), *self._lost_lines(errors)]

    @property
    def beyond(self) -> bool:
        """True if the first step changes the log odds more than forecasts are accurate for (HOLDS_TO)."""
        return self.first_move > HOLDS_TO

    def _lost_lines(self, errors: Mapping[str, Any]) -> Iterator[str]:
        """Yield lines that name the lost prompts, and how often such names were correct in stored runs."""
        if self.lost:
            names = [f'"{_last_line(name)}"' for name in self.lost[:_NAMED]]
            more = f" and {len(self.lost) - _NAMED} more (--all)" if len(self.lost) > _NAMED else ""
            right = f"{errors['named_lost']} of {errors['named']} such names were right"
            unnamed = f"{errors['lost'] - errors['named_lost']} of {errors['lost']} lost were not named"
            yield f"Lost: {', '.join(names)}{more}."
            yield f"In stored runs {right}; {unnamed}."
        if self.overflowing:
            yield f"Left out, not finite: {len(self.overflowing)} other settings (--all)."

    def notes(self) -> list[str]:
        """Notes on the +- of the tables, on all lost prompts, and on settings without a finite forecast."""
        seeds = f"+- is over {SEEDS} seeds of the linear model; the error of its forecasts stands above."
        lost = f"Lost: {'; '.join(map(_last_line, self.lost))}."
        left_out = f"Not finite: {'; '.join(self.overflowing)}."
        return [seeds] + [lost] * bool(self.lost) + [left_out] * bool(self.overflowing)

    def better(self) -> list[SettingOutcome]:
        """Other settings whose held-out Pass@k at the end is at least .01 higher, the highest first."""
        own, *alternatives = self.choices
        improved = [choice for choice in alternatives if choice.held_out[1] > own.held_out[1] + 0.01]
        return sorted(improved, key=lambda choice: -choice.held_out[1])


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
    """Forecast Pass@k of a kernel's prompts when the prompts of its first set are trained.

    Args:
        kernel: Kernel that `dph transfer` measured.
        method: Training method, for example `LinearisedMethod.from_objective` of a configuration's objective.
        steps: Number of steps of Adam.
        learning_rate: Constant learning rate of Adam; the kernel has the length of its step.
        k: Number of answers in Pass@k.
        held_out: Held-out set to be shown beside the trained set; all sets by default.
        batch: Prompts per step; all trained prompts by default.
        frontier: Also forecast other settings.
        seed: Seed of the first of the simulated trainings.

    Returns:
        The forecast for the method and, with `frontier`, for other settings.

    Raises:
        ValueError: If the kernel lacks the set `held_out`, or has no length of a step.

    Source: ours, theory N.
    """
    first, *shown = _shown_sets(kernel, held_out)
    trained = kernel.prompts_in(first)
    training: dict[str, Any] = {"steps": steps, "step": learning_rate * kernel.about["adam"], "batch": batch}
    alternatives = [*_alternatives(kernel, method, trained, np.random.default_rng(seed))] if frontier else []
    methods = [(method, SEEDS), *((other, FEW) for _, other in alternatives)]
    curves, alternative_curves = linearised_trainings(kernel, methods, trained, seed=seed, **training)
    sets = {first: trained, **{name: kernel.prompts_in(name) for name in shown}}
    forecasts = [_set_forecast(name, curves, prompts, k, first) for name, prompts in sets.items()]
    shown_prompts = np.concatenate([sets[name] for name in shown]) if shown else trained
    before, after = (curves.rates[:, i].mean(axis=0)[shown_prompts] for i in (0, -1))
    lost_prompts = shown_prompts[lost(before, after, k)]
    pairs = [(setting, end) for (setting, _), end in zip(alternatives, alternative_curves, strict=True)]
    ends = [("these settings", curves), *((setting, end) for setting, end in pairs if end is not None)]
    both = trained, shown_prompts
    choices = [SettingOutcome(name, *(_rates_at(end, part, k, -1) for part in both)) for name, end in ends]
    return SharedModelForecast(
        k=k,
        steps=steps,
        step=learning_rate,
        sets=tuple(forecasts),
        first_move=curves.first_move(np.union1d(trained, shown_prompts)),
        lost=tuple(kernel.names[i] for i in lost_prompts),
        base=SettingOutcome("the base", *(_rates_at(curves, part, k, 0) for part in both)),
        choices=tuple(choices),
        overflowing=tuple(setting for setting, end in pairs if end is None),
        sampled=str(kernel.about.get("answers", "")).endswith("sampled"),
    )


def _shown_sets(kernel: AnswerKernel, held_out: str | None) -> list[str]:
    """Names of the trained set and of the held-out sets to be shown."""
    if "adam" not in kernel.about:
        allowed = "one that dph transfer measured, which gives Adam's step"
        raise argument_error("kernel", repr(kernel), allowed)
    first, *untrained = dict.fromkeys(kernel.sets)
    if held_out is not None and held_out not in untrained:
        allowed = f"one of {', '.join(untrained) or 'none: all are trained'}"
        raise argument_error("held_out", held_out, allowed)
    return [first, *([held_out] if held_out else untrained)]


def _rates_at(curves: TrainingCurves, prompts: np.ndarray, k: int, time: int) -> tuple[float, float]:
    """Pass@1 and Pass@k of the prompts at an index in time, averaged over seeds."""
    first, passed = curves.pass_at_k(prompts, np.array([1, k]))[:, time].mean(axis=0).tolist()
    return first, passed


def _set_forecast(name: str, curves: TrainingCurves, prompts: np.ndarray, k: int, first: str) -> SetForecast:
    rates = curves.pass_at_k(prompts, np.array([1, k]))
    times = [0, rates.shape[1] // 2, rates.shape[1] - 1]
    means, spreads = rates.mean(axis=0)[times].T.tolist(), rates.std(axis=0, ddof=1)[times].T.tolist()
    pass_at_1, pass_at_k = (tuple(zip(means[i], spreads[i], strict=True)) for i in (0, 1))
    return SetForecast(name, name == first, pass_at_1, pass_at_k)


def _last_line(name: str) -> str:
    """Return a prompt's last line, which differs between prompts that begin with the same examples."""
    return name.strip().splitlines()[-1].strip()


def lost(start: np.ndarray, end: np.ndarray, k: int) -> np.ndarray:
    """Indices of prompts whose Pass@k is nearly gone, the largest loss first, from pass rates (prompts,)."""
    had, has = exact_pass_at_k(start, k), exact_pass_at_k(end, k)
    gone = np.flatnonzero((had >= _HAD) & (has < _LOST * had))
    return gone[np.argsort(has[gone] - had[gone])]


def _alternatives(
    kernel: AnswerKernel, method: LinearisedMethod, trained: np.ndarray, generator: np.random.Generator
) -> Iterator[tuple[str, LinearisedMethod]]:
    """Yield (name, method) of other settings: kinds of KL, rehearsal, a penalty on a few unsolved prompts."""
    plain = replace(method, beta=0.0, divergence=None, in_reward=False, holds=())
    yield "no KL", plain
    for name, divergence in _KLS.items():
        for beta in _STRENGTHS:
            yield f"{name}, coefficient {beta:g}", replace(plain, beta=beta, divergence=divergence)
    rates = kernel.rates
    solved = tuple(int(i) for i in trained if rates[i] >= SOLVED)
    if solved and len(solved) < len(trained):
        for eta in _STRENGTHS[1:3]:
            hold = Hold(solved, FORWARD_KL, eta)
            yield (
                f"rehearsal of {len(solved)} solved prompts, coefficient {eta:g}",
                replace(plain, holds=(hold,)),
            )
    left = [i for i in trained.tolist() if i not in solved]
    if len(left) > 2 * _ANCHORS:
        few = tuple(sorted(generator.choice(left, _ANCHORS, replace=False).tolist()))
        for eta in _STRENGTHS[1:3]:
            hold = Hold(few, FORWARD_KL, eta, correct_only=False)
            yield f"{_CONSTRAINED}, coefficient {eta:g}", replace(plain, holds=(hold,))
