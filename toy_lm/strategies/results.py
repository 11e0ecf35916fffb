"""What the experiment finds, as frozen values that a record holds as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dph_theory.meter import LeadTime
from dph_theory.support.frozen import from_json
from dph_theory.support.record import checked

from .config import Config

KIND = "toy.strategies"

Row = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a policy does, averaged over prompts; the fields of `toy_lm.strategies.measure.Measures`.

    pass_at_draws is Pass@k over the configured draws, pass_at_k that of the one k that stands for coverage.
    """

    pass_at_1: float
    pass_at_k: float
    excess_kl: float
    easy_entropy: float
    easy_rate: float
    guarantee: float
    pass_at_draws: Row


@dataclass(frozen=True, kw_only=True)
class Lead(LeadTime):
    """When the excess KL had risen by `rise` nats, and when Pass@k had fallen."""

    rise: float


@dataclass(frozen=True, kw_only=True)
class Method(Score):
    """A method at the end of its training, and its curves along the steps that were kept.

    eta weighs the anchor; guarantee_margin is the least of easy_rate - guarantee over all steps.
    """

    name: str
    eta: float
    guarantee_margin: float
    leads: tuple[Lead, ...]
    step: tuple[int, ...]
    pass_at_k_curve: Row
    excess_kl_curve: Row


@dataclass(frozen=True, kw_only=True)
class Block:
    """The trainings with one divergence at one place: matrices are [conditioning][strength].

    coverage_step is when Pass@k fell, meter_step, one matrix a threshold, when the excess KL had risen.
    """

    conditioning: Row
    strength: Row
    pass_at_1: tuple[Row, ...]
    pass_at_k: tuple[Row, ...]
    coverage_step: tuple[tuple[int | None, ...], ...]
    meter_step: tuple[tuple[tuple[int | None, ...], ...], ...]
    divergence: str | None = None
    alpha: float | None = None
    place: str | None = None


@dataclass(frozen=True, kw_only=True)
class WhereDirectionMatters:
    """Pass@k over the draws, by method on D_pef, at the strength where forward and reverse differ most."""

    strength: float
    pass_at_draws: dict[str, Row]


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Mean validity that KL control aims at, and reaches; `reached` has a row a conditioning."""

    target: Row
    beta: Row
    predicted: Row
    unrestricted: Row
    best_of_family: Row
    reached: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class OnRandomTasks:
    """Mean changes over random tasks, each (mean, low, high) with its 95% interval.

    rise_and_fall is the share of tasks on which Pass@1 rises while Pass@k falls.
    """

    name: str
    pass_at_1_change: Row
    pass_at_k_change: Row
    rise_and_fall: float


@dataclass(frozen=True, kw_only=True)
class Results:
    """Everything in a record of the experiment."""

    draws: tuple[int, ...]
    base: Score
    methods: tuple[Method, ...]
    sweep: tuple[Block, ...]
    weak: WhereDirectionMatters
    targets: Targets
    random_tasks: tuple[OnRandomTasks, ...]

    def method(self, name: str) -> Method:
        """The method of that name."""
        return next(method for method in self.methods if method.name == name)


def read(record: Any) -> tuple[Config, Results]:
    """The configuration and results of a record; ValueError unless it is one of this experiment."""
    found: Mapping[str, Any] = checked(record, KIND)
    return from_json(Config, found["config"]), from_json(Results, found["results"])
