"""Where and how the policy is anchored: every divergence, place, strength and conditioning, in batches."""

from typing import Any

import numpy as np
from jaxtyping import Int

from dph_theory import FDivergence, alpha_divergence
from dph_theory.support.progress import StageProgress

from ..meter import LeadTime, lead_time
from .config import Config
from .measure import Measures, measure
from .train import Anchor, train

PLACES = {"D_pef": False, "all prompts": True}
"""Where an anchor may act, and whether that is everywhere."""
_Job = tuple[FDivergence | None, str | None, tuple[float, ...]]
"""A divergence, its place, and the conditionings to try."""


def sweep(config: Config, done: StageProgress) -> list[dict[str, Any]]:
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
    return blocks


def kept_steps(steps: int) -> Int[np.ndarray, " times"]:
    """0, 1, 2, ... and then steps about 4% apart, to the last: fine where collapse begins."""
    spaced = np.geomspace(1, steps, 2 + int(np.log(steps) / np.log(1.04)))
    return np.unique(np.append(0, np.round(spaced).astype(int)))


def _block(
    config: Config, divergence: FDivergence | None, place: str | None, conditionings: tuple[float, ...]
) -> dict[str, Any]:
    strengths = np.array(config.strengths if divergence else (0.0,))
    eta = strengths / divergence.curvature if divergence else strengths
    anchor = Anchor(divergence, PLACES[place]) if divergence and place else None
    shape = (len(conditionings), len(eta))
    keep = kept_steps(config.steps)
    run = train(config.task, anchor, eta, np.array(conditionings)[:, None], config.optimiser, keep)
    found = measure(run.outcomes, config.task, config.coverage_draws)
    return {
        "divergence": divergence.name if divergence else None,
        "alpha": divergence.alpha if divergence else None,
        "place": place,
        "conditioning": list(conditionings),
        "strength": strengths.tolist(),
        "eta": eta.tolist(),
        **{name: values[-1].tolist() for name, values in found._asdict().items()},
        **_leads(config, keep, found, shape),
    }


def _leads(config: Config, steps: np.ndarray, found: Measures, shape: tuple[int, int]) -> dict[str, Any]:
    """When coverage fell [conditioning][strength]; when the meter warned [rise][conditioning][strength]."""
    rows, columns = shape
    curves = [
        [(found.excess_kl[:, i, j], found.pass_at_k[:, i, j]) for j in range(columns)] for i in range(rows)
    ]

    def times(rise: float) -> list[list[LeadTime]]:
        return [[lead_time(steps, *curve, rise=rise, fall=config.fall) for curve in row] for row in curves]

    return {
        "coverage_step": [[at.coverage_step for at in row] for row in times(config.rises[0])],
        "meter_step": [[[at.meter_step for at in row] for row in times(rise)] for rise in config.rises],
    }
