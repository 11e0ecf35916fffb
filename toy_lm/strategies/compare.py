"""The methods side by side: their whole training on the task, and their ends on random tasks."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dph_theory import FORWARD_KL, REVERSE_KL
from dph_theory.intervals import mean_interval
from dph_theory.numeric.balls import Values
from dph_theory.support.progress import StageProgress

from ..meter import lead_time
from .config import Config
from .measure import mean_pass_at_k, measure
from .policy import pass_rates
from .sweep import PLACES, kept_steps
from .task import random_tasks
from .train import Anchor, Trajectory, train

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


def compare(config: Config, done: StageProgress) -> dict[str, Any]:
    """The base's pass@k, and of each method the curves over k and along training, and its lead times."""
    task, ks, jobs = config.task, np.array(config.draws), list(methods(config))
    rows = []
    for number, method in enumerate(jobs):
        done(number, len(jobs))
        rows.append(_method(config, method))
    done(len(jobs), len(jobs))
    base = task.base_law
    return {
        "draws": ks.tolist(),
        "base": {
            "pass_at_draws": mean_pass_at_k(base, task, ks).tolist(),
            **{name: float(value) for name, value in _measured(config, base).items()},
        },
        "methods": rows,
    }


def _measured(config: Config, outcomes: np.ndarray) -> dict[str, Values]:
    return measure(outcomes, config.task, config.coverage_draws)._asdict()


def _method(config: Config, method: Named) -> dict[str, Any]:
    every = np.arange(config.steps + 1)
    eta, conditioning = np.array(method.eta), np.array(config.conditioning)
    run = train(config.task, method.anchor, eta, conditioning, config.optimiser, every)
    along = _measured(config, run.outcomes)
    shown = kept_steps(config.steps)
    return {
        "name": method.name,
        "divergence": method.anchor.divergence.name if method.anchor else None,
        "everywhere": method.anchor.everywhere if method.anchor else None,
        "eta": method.eta,
        "training": {
            "step": shown.tolist(),
            **{name: values[shown].tolist() for name, values in along.items()},
        },
        **{name: float(values[-1]) for name, values in along.items()},
        "guarantee_margin": float((along["easy_rate"] - along["guarantee"]).min()),
        "leads": [_lead(config, every, along, rise) for rise in config.rises],
        **_end(config, run),
    }


def _lead(config: Config, steps: np.ndarray, along: dict[str, Values], rise: float) -> dict[str, Any]:
    found = lead_time(steps, along["excess_kl"], along["pass_at_k"], rise=rise, fall=config.fall)
    return {"rise": rise, **found._asdict(), "lead": found.lead}


def _end(config: Config, run: Trajectory) -> dict[str, Any]:
    """What the trained policy does: pass@k over k, its rate on each type, its strategies, its skills."""
    last, half = run.outcomes[-1], len(config.base)
    return {
        "pass_at_draws": mean_pass_at_k(last, config.task, np.array(config.draws)).tolist(),
        "pass_rates": pass_rates(last).tolist(),
        "strategies": (last[:, :half] + last[:, half:]).tolist(),
        "skill": run.skill[-1].tolist(),
    }


def where_direction_matters(config: Config, directions: list[dict[str, Any]]) -> dict[str, Any]:
    """Pass@k over k of every direction on D_pef, at the strength where forward and reverse differ most."""
    on_rehearsed = [row for row in directions if row["place"] == "D_pef"]
    strength = max(on_rehearsed, key=lambda row: abs(row["gap"]))["strength"]
    ends, conditioning, curves = np.array([0, config.steps]), np.array(config.conditioning), {}
    for direction, divergence in config.divergences.items():
        eta, anchor = np.array(strength / divergence.curvature), Anchor(divergence, everywhere=False)
        run = train(config.task, anchor, eta, conditioning, config.optimiser, ends)
        name = _DPH.get(direction, f"{direction} on D_pef")
        curves[name] = mean_pass_at_k(run.outcomes[-1], config.task, np.array(config.draws)).tolist()
    return {"strength": strength, "pass_at_draws": curves}


def on_random_tasks(config: Config, rng: np.random.Generator) -> dict[str, Any]:
    """GRPO and both directions of KL on D_pef, on tasks drawn at random: changes of pass@1 and pass@k.

    Means come with 95% Student-t intervals over tasks; "rise_and_fall" is the share of tasks on which pass@1
    rises while pass@k falls.
    """
    task = random_tasks(config.random_tasks, len(config.base), config.easy_rate, rng)
    conditioning, ends = np.array(config.conditioning), np.array([0, config.steps])
    rows = []
    for name, divergence in (("GRPO", None), ("DPH-F", FORWARD_KL), ("reverse KL on D_pef", REVERSE_KL)):
        anchor = Anchor(divergence, everywhere=False) if divergence else None
        run = train(task, anchor, np.array(config.strength), conditioning, config.optimiser, ends)
        found = measure(run.outcomes, task, config.coverage_draws)
        one, many = (np.diff(values, axis=0)[0] for values in (found.pass_at_1, found.pass_at_k))
        rows.append(
            {
                "name": name,
                "tasks": config.random_tasks,
                "pass_at_1_change": [float(v) for v in mean_interval(one)],
                "pass_at_k_change": [float(v) for v in mean_interval(many)],
                "rise_and_fall": float(np.mean((one > 0) & (many < 0))),
            }
        )
    return {"methods": rows}
