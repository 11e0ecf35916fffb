"""The collapse meter along a training: does the excess KL warn before pass@k falls."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from .numeric.arrays import Array, integers, open_rate, real, scalar
from .support.errors import argument_error


@dataclass(frozen=True)
class LeadTime:
    """When the meter warned, when coverage fell, and the steps between; None for what never happened."""

    meter_step: int | None = None
    coverage_step: int | None = None

    @property
    def lead(self) -> int | None:
        """coverage_step - meter_step, negative where the warning came late."""
        if self.meter_step is None or self.coverage_step is None:
            return None
        return self.coverage_step - self.meter_step


@dataclass(frozen=True)
class Warnings:
    """The meter as a warning over several trainings, at one threshold: a rise of `rise` nats."""

    rise: float
    leads: tuple[LeadTime, ...]

    @property
    def fallen(self) -> list[LeadTime]:
        """Of the trainings whose coverage fell."""
        return [lead for lead in self.leads if lead.coverage_step is not None]

    @property
    def steps_ahead(self) -> list[int]:
        """The leads of the trainings with a warning and a fall."""
        return [lead.lead for lead in self.leads if lead.lead is not None]

    @property
    def warned_before(self) -> int:
        """How many of the fallen were warned before."""
        return sum(steps > 0 for steps in self.steps_ahead)

    @property
    def false_alarms(self) -> int:
        """How many trainings were warned that did not fall."""
        return sum(lead.meter_step is not None and lead.coverage_step is None for lead in self.leads)


def lead_time(steps: Array, excess: Array, coverage: Array, *, rise: float, fall: float) -> LeadTime:
    """The first steps with excess KL >= its first value + rise, and with pass@k <= its peak so far - fall.

    steps: whole numbers, increasing; excess KL in nats (inf allowed) and coverage (pass@k in [0, 1]) at those
    steps; all of shape (steps,). rise > 0 in nats, fall in (0, 1).
    Raises ValueError for other shapes or values. Source: ours, entries `frontier`.
    """
    steps, excess = integers("steps", steps, at_least=0), real("excess", excess, at_least=0)
    coverage = real("coverage", coverage, at_least=0, at_most=1)
    if steps.ndim != 1 or len(steps) == 0:
        raise argument_error("steps.shape", steps.shape, "one axis with at least one step")
    for name, array in (("excess", excess), ("coverage", coverage)):
        if array.shape != steps.shape:
            raise argument_error(f"{name}.shape", array.shape, f"{steps.shape}, one value a step")
    if (np.diff(steps) <= 0).any():
        raise argument_error("steps", steps, "increasing steps only")
    rise, fall = scalar("rise", real("rise", rise, above=0)), scalar("fall", open_rate("fall", fall))
    warned = excess >= excess[0] + rise
    fallen = coverage <= np.maximum.accumulate(coverage) - fall
    return LeadTime(_first(steps, warned), _first(steps, fallen))


def _first(steps: np.ndarray, happened: Bool[np.ndarray, " steps"]) -> int | None:
    return int(steps[np.argmax(happened)]) if happened.any() else None
