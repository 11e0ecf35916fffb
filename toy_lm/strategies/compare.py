"""The methods side by side: their whole training on the task, and their ends on random tasks."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dph_theory import FORWARD_KL, REVERSE_KL
from dph_theory.intervals import mean_interval
from dph_theory.meter import lead_time

from .config import Config
from .measure import Measures, mean_pass_at_k, measure
from .results import Lead, Method, OnRandomTasks, Row, Score, WhereDirectionMatters
from .summary import Direction
from .sweep import PLACES, kept_steps
from .task import random_tasks
from .train import Anchor, train

_DPH = {"forward KL": "DPH-F", "JS": "DPH-JS", "alpha": "DPH-alpha"}
"""li2025choice's names of the mass-covering anchors on rehearsed prompts."""


class Named(NamedTuple):
    """A method of the comparison."""

    name: str
    anchor: Anchor | None
    eta: float


def methods(config: Config) -> Iterator[Named]:
    """GRPO alone, then every direction at every place, all at the same strength eta f''(1)."""
    yield Named("GRPO", None, 0.0)
    for place, everywhere in PLACES.items():
        for direction, divergence in config.divergences.items():
            name = _DPH.get(direction) if place == "D_pef" else None
            anchor = Anchor(divergence, everywhere)
            yield Named(name or f"{direction} on {place}", anchor, config.strength / divergence.curvature)


def compare(config: Config, done: Callable[[int, int], None]) -> tuple[Score, tuple[Method, ...]]:
    """The measures of the base, and of each method along its training."""
    jobs, rows = list(methods(config)), []
    for number, method in enumerate(jobs):
        done(number, len(jobs))
        rows.append(_method(config, method))
    done(len(jobs), len(jobs))
    measured = measure(config.task.base_law, config.task, config.coverage_draws)
    base = Score(**_floats(measured), pass_at_draws=_pass_at_draws(config, config.task.base_law))
    return base, tuple(rows)


def _method(config: Config, method: Named) -> Method:
    every = np.arange(config.steps + 1)
    eta, conditioning = np.array(method.eta), np.array(config.conditioning)
    run = train(config.task, method.anchor, eta, conditioning, config.optimiser, every)
    along = measure(run, config.task, config.coverage_draws)
    kept = kept_steps(config.steps)
    leads = (
        Lead(
            rise=rise,
            **vars(lead_time(every, along.excess_kl, along.pass_at_k, rise=rise, fall=config.fall)),
        )
        for rise in config.rises
    )
    return Method(
        **_floats(Measures(*(values[-1] for values in along))),
        pass_at_draws=_pass_at_draws(config, run[-1]),
        name=method.name,
        eta=method.eta,
        guarantee_margin=float((along.easy_rate - along.guarantee).min()),
        leads=tuple(leads),
        step=tuple(kept.tolist()),
        pass_at_k_curve=tuple(along.pass_at_k[kept].tolist()),
        excess_kl_curve=tuple(along.excess_kl[kept].tolist()),
    )


def _floats(measured: Measures) -> dict[str, float]:
    return {name: float(value) for name, value in measured._asdict().items()}


def _pass_at_draws(config: Config, outcomes: np.ndarray) -> Row:
    return tuple(mean_pass_at_k(outcomes, config.task, np.array(config.draws)).tolist())


def where_direction_matters(config: Config, directions: Sequence[Direction]) -> WhereDirectionMatters:
    """Pass@k over k of every direction on D_pef, at the strength where forward and reverse differ most."""
    on_rehearsed = [row for row in directions if row.place == "D_pef"]
    strength = max(on_rehearsed, key=lambda row: abs(row.gap)).strength
    ends, conditioning, curves = np.array([0, config.steps]), np.array(config.conditioning), {}
    for direction, divergence in config.divergences.items():
        eta, anchor = np.array(strength / divergence.curvature), Anchor(divergence, everywhere=False)
        run = train(config.task, anchor, eta, conditioning, config.optimiser, ends)
        curves[_DPH.get(direction, f"{direction} on D_pef")] = _pass_at_draws(config, run[-1])
    return WhereDirectionMatters(strength=strength, pass_at_draws=curves)


def on_random_tasks(config: Config, rng: np.random.Generator) -> tuple[OnRandomTasks, ...]:
    """GRPO and both directions of KL on D_pef, on tasks drawn at random: changes of pass@1 and pass@k."""
    task = random_tasks(config.random_tasks, len(config.base), config.easy_rate, rng)
    conditioning, ends = np.array(config.conditioning), np.array([0, config.steps])
    rows = []
    for name, divergence in (("GRPO", None), ("DPH-F", FORWARD_KL), ("reverse KL on D_pef", REVERSE_KL)):
        anchor = Anchor(divergence, everywhere=False) if divergence else None
        run = train(task, anchor, np.array(config.strength), conditioning, config.optimiser, ends)
        found = measure(run, task, config.coverage_draws)
        one, many = (np.diff(values, axis=0)[0] for values in (found.pass_at_1, found.pass_at_k))
        rows.append(
            OnRandomTasks(
                name=name,
                pass_at_1_change=tuple(map(float, mean_interval(one))),
                pass_at_k_change=tuple(map(float, mean_interval(many))),
                rise_and_fall=float(np.mean((one > 0) & (many < 0))),
            )
        )
    return tuple(rows)
