"""The strategies experiment: the methods, the sweep over conditioning and strength, and random tasks."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from dph_theory import FORWARD_KL, REVERSE_KL, FDivergence, alpha_divergence
from dph_theory.intervals import mean_interval
from dph_theory.meter import lead_time
from dph_theory.numeric.arrays import integers
from dph_theory.support.progress import Progress, StageProgress, silent
from dph_theory.support.record import as_json, record

from ..grid import Row, run_grid
from .results import KIND, PLACES, StrategiesConfig, findings
from .task import random_tasks
from .train import Anchor, Measures, mean_pass_at_k, measure, train

# A divergence, its place, and the conditionings to try.
_Job = tuple[FDivergence | None, str | None, tuple[float, ...]]


def sweep(config: StrategiesConfig, done: StageProgress) -> list[Row]:
    """Train without a penalty, and with each divergence and place at all strengths; one row per block.

    Matrices are [conditioning][strength]; strengths are eta f''(1). coverage_step is the step at which Pass@k
    fell; meter_step, one matrix per threshold, the step at which the excess KL had risen. Alphas other than
    the configured one are tried only at its conditioning.
    """
    jobs: list[_Job] = [(None, None, config.conditionings)]
    for place in PLACES:
        jobs += [(divergence, place, config.conditionings) for divergence in config.divergences.values()]
        more = [alpha_divergence(alpha) for alpha in config.alphas if alpha != config.alpha]
        jobs += [(divergence, place, (config.conditioning,)) for divergence in more]
    return run_grid(partial(_block, config), jobs, done=done)


def recorded_steps(steps: int) -> Int[np.ndarray, " times"]:
    """Steps 0, 1, 2, ... and then about 4% apart, to the last: fine where collapse begins."""
    spaced = np.geomspace(1, steps, 2 + int(np.log(steps) / np.log(1.04)))
    return np.unique(np.append(0, np.round(spaced).astype(int)))


def _block(config: StrategiesConfig, job: _Job) -> Row:
    divergence, place, conditionings = job
    strengths = np.array(config.strengths if divergence else (0.0,))
    eta = strengths / divergence.curvature if divergence else strengths
    anchor = Anchor(divergence, PLACES[place]) if divergence and place else None
    stored = recorded_steps(config.steps)
    run = train(config.task, anchor, eta, np.array(conditionings)[:, None], config.optimiser, stored)
    measures = measure(run, config.task, config.coverage_draws)
    curves = [np.moveaxis(curve, 0, -1) for curve in (measures.excess_kl, measures.pass_at_k)]
    times = []
    for rise in config.rises:
        timed = partial(lead_time, stored, rise=rise, fall=config.fall)
        times.append([list(map(timed, *rows)) for rows in zip(*curves, strict=True)])
    block = {
        "conditioning": conditionings,
        "strength": strengths,
        "pass_at_1": measures.pass_at_1[-1],
        "pass_at_k": measures.pass_at_k[-1],
        "coverage_step": [[at.coverage_step for at in row] for row in times[0]],
        "meter_step": [[[at.meter_step for at in row] for row in matrix] for matrix in times],
    }
    if divergence is not None:
        block |= {"divergence": divergence.name, "place": place}
        block |= {} if divergence.alpha is None else {"alpha": divergence.alpha}
    return as_json(block)


_DPH = {"forward KL": "DPH-F", "JS": "DPH-JS", "alpha": "DPH-alpha"}
"""li2025choice's names of the mass-covering anchors on rehearsed prompts."""


class ComparedMethod(NamedTuple):
    """A method of the comparison."""

    name: str
    anchor: Anchor | None
    eta: float


def methods(config: StrategiesConfig) -> Iterator[ComparedMethod]:
    """Yield GRPO alone, then each divergence at each place, all at equal strength eta f''(1)."""
    yield ComparedMethod("GRPO", None, 0.0)
    for place, everywhere in PLACES.items():
        for direction, divergence in config.divergences.items():
            name = _DPH.get(direction) if place == "D_pef" else None
            anchor = Anchor(divergence, everywhere)
            eta = config.strength / divergence.curvature
            yield ComparedMethod(name or f"{direction} on {place}", anchor, eta)


def compare(config: StrategiesConfig, done: StageProgress) -> tuple[Row, list[Row]]:
    """Measure the base, and each method at its end and at the recorded steps.

    The measures are those of `toy_lm.strategies.train.Measures`, and pass_at_draws over the configured draws;
    eta weighs the anchor, guarantee_margin is the minimum of easy_rate - guarantee over all steps, and a lead
    has the steps at which the excess KL had risen by `rise` nats and Pass@k had fallen.
    """
    rows = run_grid(partial(_method, config), list(methods(config)), done=done)
    measured = measure(config.task.base_distribution, config.task, config.coverage_draws)
    return _score(config, measured, config.task.base_distribution), rows


def _method(config: StrategiesConfig, method: ComparedMethod) -> Row:
    every = np.arange(config.steps + 1)
    eta, conditioning = np.array(method.eta), np.array(config.conditioning)
    run = train(config.task, method.anchor, eta, conditioning, config.optimiser, every)
    along = measure(run, config.task, config.coverage_draws)
    stored, base = recorded_steps(config.steps), config.task.base_distribution
    timed = partial(lead_time, every, along.excess_kl, along.pass_at_k, fall=config.fall)
    leads = [{"rise": rise} | as_json(timed(rise=rise)) for rise in config.rises]
    courses = {"reverse_kl": REVERSE_KL(run[stored], base), "forward_kl": FORWARD_KL(run[stored], base)}
    return _score(config, Measures(*(values[-1] for values in along)), run[-1]) | {
        "name": method.name,
        "eta": method.eta,
        "guarantee_margin": float((along.easy_rate - along.guarantee).min()),
        "leads": leads,
        "step": stored.tolist(),
        "pass_at_k_curve": along.pass_at_k[stored].tolist(),
        "excess_kl_curve": along.excess_kl[stored].tolist(),
        **{f"{name}_curve": (config.task.weights * kl).sum(axis=-1).tolist() for name, kl in courses.items()},
    }


def _score(config: StrategiesConfig, measured: Measures, outcomes: np.ndarray) -> Row:
    numbers = {name: float(value) for name, value in measured._asdict().items()}
    return numbers | {"pass_at_draws": mean_pass_at_k(outcomes, config.task, np.array(config.draws)).tolist()}


def on_random_tasks(config: StrategiesConfig, rng: np.random.Generator) -> list[Row]:
    """Changes of Pass@1 and Pass@k on random tasks, for GRPO and both directions of KL on D_pef.

    Each change is (mean, low, high) with its 95% interval; rise_and_fall is the share of tasks on which
    Pass@1 rises while Pass@k falls.
    """
    task = random_tasks(config.random_tasks, len(config.base), config.easy_rate, rng)
    conditioning, ends = np.array(config.conditioning), np.array([0, config.steps])
    rows = []
    for name, divergence in (("GRPO", None), ("DPH-F", FORWARD_KL), ("reverse KL on D_pef", REVERSE_KL)):
        anchor = Anchor(divergence, everywhere=False) if divergence else None
        run = train(task, anchor, np.array(config.strength), conditioning, config.optimiser, ends)
        measures = measure(run, task, config.coverage_draws)
        one, many = (np.diff(values, axis=0)[0] for values in (measures.pass_at_1, measures.pass_at_k))
        row: Row = {"name": name}
        for field, change in (("pass_at_1", one), ("pass_at_k", many)):
            row[f"{field}_change"] = [float(x) for x in mean_interval(change)]
        rows.append(row | {"rise_and_fall": float(np.mean((one > 0) & (many < 0)))})
    return rows


def run(config: StrategiesConfig, *, seed: int = 0, progress: Progress = silent) -> dict[str, Any]:
    """Train every method and the sweep by exact gradients; returns the record with all numbers and findings.

    The seed draws the random tasks; everything else is deterministic. progress(stage, done, total) is called
    along the way. Source: ours, entries `falling_pass_at_k`, `frontier`, `forms_and_curvature`,
    `rehearsal_guarantee`.
    """
    integers("seed", seed, at_least=0)
    base, methods = compare(config, partial(progress, "methods"))
    blocks = sweep(config, partial(progress, "sweep"))
    progress("random tasks", 0, 1)
    random = on_random_tasks(config, np.random.default_rng(seed))
    progress("random tasks", 1, 1)
    parts = {"draws": config.draws, "base": base, "methods": methods, "sweep": blocks}
    results = as_json(parts | {"random_tasks": random})
    settings, sentences, packages = as_json(config), findings(config, results), ("numpy", "scipy")
    return record(KIND, seed=seed, config=settings, results=results, findings=sentences, packages=packages)
