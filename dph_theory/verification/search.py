"""The search for a violation: random test cases, some in the corners, an optimiser, the stored test cases."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from .charts import Chart, Instance, as_floats
from .reports import SearchSettings
from .statement import Theorem

CHUNK = 10_000
"""Instances per batch: large enough for numpy, small enough for the cache."""
IN_CORNERS = 0.15
"""The share of test cases of which half the coordinates are snapped to the ends of the cube."""
MOST_DIGITS = 12
_DIFFERENCE = 1e-6
_CEILING = 1e6
"""Infinite violations enter the optimisers as this, since they compare but do not add infinities."""


@dataclass(frozen=True)
class SearchOutcome:
    """Number of test cases that a search tried, the worst violation, and its counterexample if any."""

    instances: int
    worst: float
    witness: dict[str, Any] | None


def sample(chart: Chart, size: int, rng: np.random.Generator) -> np.ndarray:
    """Cube points (size, dimension), a share of them with coordinates snapped to 0 or 1."""
    cube = rng.random((size, chart.dimension))
    snapped = (rng.random((size, 1)) < IN_CORNERS) & (rng.random(cube.shape) < 0.5)
    return np.where(snapped, np.round(cube), cube)


def plain(instance: Instance) -> dict[str, Any]:
    """Test case (a batch of one) as plain Python numbers and lists, by name."""
    return {name: value[0].tolist() for name, value in as_floats(instance).items()}


def smallest(theorem: Theorem, instance: Instance) -> dict[str, Any]:
    """The violating test case with its numbers rounded to the fewest digits that still violate."""
    for digits in range(1, MOST_DIGITS + 1):
        exact = theorem.instances.rounded(instance, digits)
        with suppress(ValueError):  # Rounded out of the theorem's domain, such as a rate rounded to 1.
            if theorem.violation(as_floats(exact))[0] > theorem.tolerance:
                return plain(exact)
    return plain(instance)


class _Search:
    """The objective on test cases, remembering the worst that it has seen."""

    def __init__(self, theorem: Theorem) -> None:
        self.theorem, self.count, self.worst = theorem, 0, -np.inf
        self.point = np.full(theorem.instances.dimension, 0.5)
        self.witness: Instance | None = None

    @property
    def refuted(self) -> bool:
        """True if a violation was found."""
        return self.worst > self.theorem.tolerance

    def _is_worst(self, batch: Instance, violation: np.ndarray) -> bool:
        """Count a batch; True if it has the worst violation so far, whose test case is then stored."""
        self.count += len(violation)
        if not violation.max() > self.worst:
            return False
        at = int(violation.argmax())
        self.worst = float(violation[at])
        self.witness = {name: value[at : at + 1] for name, value in batch.items()} if self.refuted else None
        return True

    def __call__(self, cube: np.ndarray) -> np.ndarray:
        """The negative violations at cube points (batch, dimension)."""
        batch = self.theorem.instances(np.clip(cube, 0.0, 1.0))
        violation = self.theorem.violation(batch)
        if self._is_worst(batch, violation):
            self.point = cube[int(violation.argmax())].copy()
        return -np.clip(violation, -_CEILING, _CEILING)

    def examples(self) -> None:
        """Try the stored test cases."""
        for example in self.theorem.examples:
            batch = as_floats(example.parts)
            self._is_worst(batch, self.theorem.violation(batch))

    def random(self, instances: int, rng: np.random.Generator) -> None:
        """Try so many random test cases."""
        for start in range(0, instances, CHUNK):
            self(sample(self.theorem.instances, min(CHUNK, instances - start), rng))

    def with_slope(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective at a cube point and its gradient (dimension,) by one-sided differences."""
        step = np.where(point > 0.5, -_DIFFERENCE, _DIFFERENCE)
        values = self(np.vstack([point, point + np.diag(step)]))
        return float(values[0]), (values[1:] - values[0]) / step

    def optimised(self, population: int, generations: int, polish: int, rng: np.random.Generator) -> None:
        """Differential evolution over the whole cube, then steps of L-BFGS-B from the worst point found."""
        bounds = [(0.0, 1.0)] * len(self.point)
        optimize.differential_evolution(
            lambda columns: self(columns.T),
            bounds,
            init=sample(self.theorem.instances, population, rng),
            maxiter=generations,
            vectorized=True,
            updating="deferred",
            polish=False,
            tol=0.0,
            atol=-1.0,  # A flat objective is no reason to stop.
            callback=lambda intermediate_result: self.refuted,
            rng=rng,
        )
        if not self.refuted:
            options = {"maxiter": polish, "maxls": min(polish, 20)}
            optimize.minimize(
                self.with_slope, self.point, jac=True, method="L-BFGS-B", bounds=bounds, options=options
            )


def search(theorem: Theorem, search_settings: SearchSettings, seed: int) -> SearchOutcome:
    """Look for a violation: at random, else with an optimiser, and at the stored test cases."""
    attack, rng = _Search(theorem), np.random.default_rng(seed)
    search_settings = search_settings.part(theorem.share)
    attack.random(search_settings.instances, rng)
    if not attack.refuted and theorem.instances.dimension:
        sizes = search_settings.population, search_settings.generations, search_settings.polish
        attack.optimised(*sizes, rng)
    attack.examples()
    witness = None if attack.witness is None else smallest(theorem, attack.witness)
    return SearchOutcome(attack.count, attack.worst, witness)
