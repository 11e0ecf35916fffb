"""The numeric check: random instances, a part of them in the corners of the cube."""

import numpy as np

from ...statement.charts import Chart, as_floats
from ...statement.theorem import Theorem, Verdict
from .result import CheckResult, plain, simplest

CHUNK = 10_000
"""Instances per batch: large enough for numpy, small enough for the cache."""
IN_CORNERS = 0.15
"""The share of instances of which half the coordinates are snapped to the ends of the cube."""


def sample(chart: Chart, size: int, rng: np.random.Generator) -> np.ndarray:
    """Cube points (size, dimension), a share of them with coordinates snapped to 0 or 1."""
    cube = rng.random((size, chart.dimension))
    snapped = (rng.random((size, 1)) < IN_CORNERS) & (rng.random(cube.shape) < 0.5)
    return np.where(snapped, np.round(cube), cube)


def numeric(theorem: Theorem, *, instances: int = 100_000, seed: int = 0) -> CheckResult:
    """Try the theorem on that many random instances and on its examples: HOLDS, or REFUTED with a witness."""
    rng = np.random.default_rng(seed)
    worst, tightness, witness = -np.inf, -np.inf, None
    batches = [as_floats(example) for example in theorem.examples]
    sizes = [CHUNK] * (instances // CHUNK) + ([instances % CHUNK] if instances % CHUNK else [])
    for size in [None] * len(batches) + sizes:
        batch = batches.pop(0) if size is None else theorem.instances(sample(theorem.instances, size, rng))
        violation, ratio = theorem.measured(batch)
        tightness = max(tightness, ratio)
        if violation.max() > theorem.tolerance:
            found = plain(simplest(theorem, batch, violation))
            witness = found if witness is None else min(witness, found, key=lambda w: len(repr(w)))
        worst = max(worst, float(violation.max()))
    return CheckResult(
        "numeric",
        Verdict.HOLDS if worst <= theorem.tolerance else Verdict.REFUTED,
        instances + len(theorem.examples),
        worst_violation=worst,
        tightness=tightness if np.isfinite(tightness) else None,
        witness=witness,
        seed=seed,
    )
