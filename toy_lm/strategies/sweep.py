"""Where and how the policy is anchored: every divergence, place, strength and conditioning, in batches."""

import numpy as np
from jaxtyping import Int

from dph_theory import FDivergence, alpha_divergence
from dph_theory.meter import LeadTime, lead_time
from dph_theory.numeric.balls import Values
from dph_theory.support.progress import StageProgress

from .config import Config
from .measure import Measures, measure
from .results import Block, Row
from .train import Anchor, train

PLACES = {"D_pef": False, "all prompts": True}
"""Where an anchor may act, and whether that is everywhere."""
_Job = tuple[FDivergence | None, str | None, tuple[float, ...]]
"""A divergence, its place, and the conditionings to try."""


def sweep(config: Config, done: StageProgress) -> tuple[Block, ...]:
    """One block without an anchor, and one for each divergence and place.

    Matrices are [conditioning][strength]; the strengths are eta f''(1). Alphas other than the configured one
    are tried at its conditioning only.
    """
    jobs: list[_Job] = [(None, None, config.conditionings)]
    for place in PLACES:
        jobs += [(divergence, place, config.conditionings) for divergence in config.divergences.values()]
        others = [alpha_divergence(alpha) for alpha in config.alphas if alpha != config.alpha]
        jobs += [(divergence, place, (config.conditioning,)) for divergence in others]
    blocks = []
    for number, job in enumerate(jobs):
        done(number, len(jobs))
        blocks.append(_block(config, *job))
    done(len(jobs), len(jobs))
    return tuple(blocks)


def kept_steps(steps: int) -> Int[np.ndarray, " times"]:
    """0, 1, 2, ... and then steps about 4% apart, to the last: fine where collapse begins."""
    spaced = np.geomspace(1, steps, 2 + int(np.log(steps) / np.log(1.04)))
    return np.unique(np.append(0, np.round(spaced).astype(int)))


def _block(
    config: Config, divergence: FDivergence | None, place: str | None, conditionings: tuple[float, ...]
) -> Block:
    strengths = np.array(config.strengths if divergence else (0.0,))
    eta = strengths / divergence.curvature if divergence else strengths
    anchor = Anchor(divergence, PLACES[place]) if divergence and place else None
    keep = kept_steps(config.steps)
    run = train(config.task, anchor, eta, np.array(conditionings)[:, None], config.optimiser, keep)
    found = measure(run, config.task, config.coverage_draws)
    times = [_lead_times(config, keep, found, rise) for rise in config.rises]
    return Block(
        divergence=divergence.name if divergence else None,
        alpha=divergence.alpha if divergence else None,
        place=place,
        conditioning=conditionings,
        strength=tuple(strengths.tolist()),
        pass_at_1=_matrix(found.pass_at_1[-1]),
        pass_at_k=_matrix(found.pass_at_k[-1]),
        coverage_step=tuple(tuple(at.coverage_step for at in row) for row in times[0]),
        meter_step=tuple(tuple(tuple(at.meter_step for at in row) for row in matrix) for matrix in times),
    )


def _matrix(values: Values) -> tuple[Row, ...]:
    return tuple(map(tuple, np.asarray(values).tolist()))


def _lead_times(config: Config, steps: np.ndarray, found: Measures, rise: float) -> list[list[LeadTime]]:
    """When the meter warned and when coverage fell, [conditioning][strength]."""
    rows, columns = found.excess_kl.shape[1:]
    return [
        [
            lead_time(steps, found.excess_kl[:, i, j], found.pass_at_k[:, i, j], rise=rise, fall=config.fall)
            for j in range(columns)
        ]
        for i in range(rows)
    ]
