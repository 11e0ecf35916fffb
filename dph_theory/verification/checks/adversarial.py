"""The adversarial check: a bounded global search over the chart for the worst violation."""

from contextlib import suppress

import numpy as np
from scipy import optimize

from ...statement.theorem import Theorem, Verdict
from .numeric import sample
from .result import CheckResult, plain, simplest

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
    restarts: int = 0,
    readable: bool = True,
) -> CheckResult:
    """Search the whole chart by differential evolution, then polish the worst point by L-BFGS-B.

    HOLDS if no violation was found, by the `restarts` either, else REFUTED with the worst instance, rounded
    if it is to be `readable`; stops at a clear one.
    """
    search, chart = _Search(theorem), theorem.instances
    rng = np.random.default_rng(seed)
    for _ in range(1 + restarts if chart.dimension else 0):
        _explore(search, rng, population, generations)
        if search.refuted:
            break
        _polish(search, polish)
    witness = None
    if search.refuted:
        batch = chart(np.clip(search.point, 0.0, 1.0)[None])
        witness = plain(simplest(theorem, batch, theorem.violation(batch)) if readable else batch)
    return CheckResult(
        "adversarial",
        Verdict.REFUTED if search.refuted else Verdict.HOLDS,
        search.count,
        worst_violation=search.worst if search.count else None,
        tightness=search.tightness if np.isfinite(search.tightness) else None,
        witness=witness,
        seed=seed,
    )
