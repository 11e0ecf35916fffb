"""The two searches for a violation: random instances, some in the corners of the cube, and a global one."""

from contextlib import suppress

import numpy as np
from scipy import optimize

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
    batches = [as_floats(example.parts) for example in theorem.examples]
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


POPULATION = 128
GENERATIONS = 60
POLISH_STEPS = 25
_DIFFERENCE = 1e-6
_CEILING = 1e6
"""Infinite violations enter the optimisers as this, since they compare but do not add infinities."""


class _ClearViolationError(Exception):
    """Raised by the objective to end an exploration that has found what it looks for."""


class _Search:
    """The objective on cube points, remembering the worst point and the tightest ratio it has seen."""

    def __init__(self, theorem: Theorem) -> None:
        self.theorem, self.count = theorem, 0
        self.worst, self.tightness = -np.inf, -np.inf
        self.point = np.full(theorem.instances.dimension, 0.5)

    def __call__(self, cube: np.ndarray) -> np.ndarray:
        """The negative violations at cube points (batch, dimension)."""
        instance = self.theorem.instances(np.clip(cube, 0.0, 1.0))
        violation, ratio = self.theorem.measured(instance)
        self.count += len(violation)
        self.tightness = max(self.tightness, ratio)
        if violation.max() > self.worst:
            self.worst, self.point = float(violation.max()), cube[int(violation.argmax())].copy()
        return -np.clip(violation, -_CEILING, _CEILING)

    @property
    def refuted(self) -> bool:
        return self.worst > self.theorem.tolerance

    def with_slope(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """The value at a point and its gradient by one-sided differences, inwards from the upper faces."""
        step = np.where(point > 0.5, -_DIFFERENCE, _DIFFERENCE)
        values = self(np.vstack([point, point + np.diag(step)]))
        return float(values[0]), (values[1:] - values[0]) / step


def _explore(search: _Search, rng: np.random.Generator, population: int, generations: int) -> None:
    """Differential evolution over the whole cube, up to the first generation with a clear violation."""
    chart = search.theorem.instances

    def objective(columns: np.ndarray) -> np.ndarray:
        values = search(columns.T)
        if search.refuted:
            raise _ClearViolationError
        return values

    with suppress(_ClearViolationError):
        optimize.differential_evolution(
            objective,
            [(0.0, 1.0)] * chart.dimension,
            init=sample(chart, population, rng),
            maxiter=generations,
            vectorized=True,
            updating="deferred",
            polish=False,
            tol=0.0,
            atol=-1.0,  # A flat objective is no reason to stop.
            rng=rng,
        )


def _polish(search: _Search, steps: int) -> None:
    """L-BFGS-B from the worst point found."""
    optimize.minimize(
        search.with_slope,
        search.point,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(search.point),
        options={"maxiter": steps},
    )


def adversarial(
    theorem: Theorem,
    *,
    seed: int = 0,
    population: int = POPULATION,
    generations: int = GENERATIONS,
    polish: int = POLISH_STEPS,
) -> CheckResult:
    """Search the whole chart by differential evolution, then polish the worst point by L-BFGS-B.

    HOLDS if no violation was found, else REFUTED with the worst instance, rounded; stops at a clear one.
    """
    search, chart = _Search(theorem), theorem.instances
    rng = np.random.default_rng(seed)
    if chart.dimension:
        _explore(search, rng, population, generations)
        if not search.refuted:
            _polish(search, polish)
    witness = None
    if search.refuted:
        batch = chart(np.clip(search.point, 0.0, 1.0)[None])
        witness = plain(simplest(theorem, batch, theorem.violation(batch)))
    return CheckResult(
        "adversarial",
        Verdict.REFUTED if search.refuted else Verdict.HOLDS,
        search.count,
        worst_violation=search.worst if search.count else None,
        tightness=search.tightness if np.isfinite(search.tightness) else None,
        witness=witness,
        seed=seed,
    )
