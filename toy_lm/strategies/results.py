"""What the experiment is run with, and what it finds: values of a record, summaries, sentences and tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, FDivergence, alpha_divergence
from dph_theory.meter import LeadTime, Warnings
from dph_theory.numeric.arrays import positive, rate, real, whole
from dph_theory.support.errors import argument_error
from dph_theory.support.record import checked, from_json
from dph_theory.support.table import Table

from .task import ALL, StrategiesTask, task
from .train import Optimiser, largest_strength

_DRAWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_STRENGTHS = tuple(float(f"{s:.3g}") for s in np.geomspace(0.01, 10, 13))


@dataclass(frozen=True)
class Config:
    """The task, the optimiser, the reference point and the sweeps around it.

    Anchors are compared at equal strength eta f''(1) (theory B9). Raises ValueError that names the field, its
    value and what is allowed.
    """

    prompts: tuple[int, ...] = (15, 10, 7, 7, 6, 5)
    """How many prompts of each type there are: the easy one, then H_1, H_2, ..."""
    base: tuple[float, ...] = (0.30, 0.25, 0.20, 0.15, 0.10)
    """The base's strategies."""
    easy_rate: float = 0.97
    hard_rate: float = 0.4
    group: int = 8
    learning_rate: float = 0.5
    steps: int = 2000
    conditioning: float = 0.1
    """g: how far each type's own logits act; 0 for fully shared strategies."""
    strength: float = 1.0
    """eta f''(1) of the anchors in the comparison of methods."""
    alpha: float = 0.5
    """The alpha-divergence of that comparison."""
    conditionings: tuple[float, ...] = (0.0, 0.03, 0.1, 0.3, 1.0)
    strengths: tuple[float, ...] = _STRENGTHS
    alphas: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9)
    targets: tuple[float, ...] = (0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
    """Mean validities that KL control is to reach."""
    draws: tuple[int, ...] = _DRAWS
    """The k of the pass@k curves."""
    coverage_draws: int = 16
    """The k of the pass@k that stands for coverage everywhere else."""
    rises: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2)
    """Thresholds of the collapse meter, in nats of mean excess KL."""
    fall: float = 0.05
    """How far pass@k must fall below its highest value so far to count as fallen."""
    random_tasks: int = 100
    """How many tasks with random weights, bases and skills the comparison is repeated on."""

    def __post_init__(self) -> None:
        _numbers(self)
        for name, value in (("conditioning", self.conditionings), ("strength", self.strengths)):
            if getattr(self, name) not in value:
                raise argument_error(name, getattr(self, name), f"one of the sweep's values {value}")
        if self.alpha not in self.alphas:
            raise argument_error("alpha", self.alpha, f"one of the sweep's values {self.alphas}")
        most = float(largest_strength(self.task, np.array(max(self.conditionings)), ALL, self.learning_rate))
        if max(self.strengths) >= most:
            raise argument_error(
                "strengths", max(self.strengths), f"below {most:.4g}, or the steps overshoot"
            )

    @classmethod
    def quick(cls) -> "Config":
        """The same task, fewer steps, and thin sweeps."""
        return cls(
            conditionings=(0.0, 0.1, 1.0),
            strengths=(0.01, 0.1, 1.0, 10.0),
            alphas=(0.5,),
            targets=(0.55, 0.75),
            random_tasks=20,
            steps=800,
        )

    @property
    def task(self) -> StrategiesTask:
        """The prompt types, weighted by their share."""
        weights = np.array(self.prompts) / sum(self.prompts)
        return task(weights, np.array(self.base), easy_rate=self.easy_rate, hard_rate=self.hard_rate)

    @property
    def optimiser(self) -> Optimiser:
        """GRPO's exact gradient ascent."""
        return Optimiser(self.learning_rate, self.steps, self.group)

    @property
    def divergences(self) -> dict[str, FDivergence]:
        """The directions that are compared, from forward to reverse."""
        return {
            "forward KL": FORWARD_KL,
            "JS": JENSEN_SHANNON,
            "alpha": alpha_divergence(self.alpha),
            "reverse KL": REVERSE_KL,
        }


def _numbers(config: Config) -> None:
    """Check the kind and the range of every field."""
    for name, least in (("prompts", 1), ("draws", 1)):
        _filled(name, whole(name, getattr(config, name), at_least=least))
    for name, least in (("steps", 1), ("group", 2), ("coverage_draws", 1), ("random_tasks", 2)):
        whole(name, getattr(config, name), at_least=least)
    for name in ("learning_rate", "strength"):
        positive(name, getattr(config, name))
    for name in ("easy_rate", "hard_rate", "fall", "alpha"):
        rate(name, getattr(config, name))
    for name in ("strengths", "rises"):
        _filled(name, positive(name, getattr(config, name)))
    for name in ("alphas", "targets"):
        _filled(name, rate(name, getattr(config, name)))
    real("conditioning", config.conditioning, at_least=0, below=np.inf)
    _filled("conditionings", real("conditionings", config.conditionings, at_least=0, below=np.inf))


def _filled(name: str, values: np.ndarray) -> None:
    if values.ndim != 1 or len(values) == 0:
        raise argument_error(name, values, "a sequence with at least one value")


KIND = "toy.strategies"

PLACES = {"D_pef": False, "all prompts": True}
"""Where an anchor may act, and whether that is everywhere."""

Row = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class PolicyScore:
    """What a policy does, averaged over prompts; the fields of `toy_lm.strategies.train.Measures`.

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
class TrainedPolicy(PolicyScore):
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
class SweepBlock:
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
class StrategiesResults:
    """Everything in a record of the experiment."""

    draws: tuple[int, ...]
    base: PolicyScore
    methods: tuple[TrainedPolicy, ...]
    sweep: tuple[SweepBlock, ...]
    weak: WhereDirectionMatters
    targets: Targets
    random_tasks: tuple[OnRandomTasks, ...]

    def method(self, name: str) -> TrainedPolicy:
        """The method of that name."""
        return next(method for method in self.methods if method.name == name)


def read(record: Any) -> tuple[Config, StrategiesResults]:
    """The configuration and results of a record; ValueError unless it is one of this experiment."""
    found: Mapping[str, Any] = checked(record, KIND)
    return from_json(Config, found["config"]), from_json(StrategiesResults, found["results"])


@dataclass(frozen=True, kw_only=True)
class Direction:
    """Every direction's Pass@1 and Pass@k at one place and strength eta f''(1), by the direction's name."""

    place: str
    strength: float
    pass_at_1: dict[str, float]
    pass_at_k: dict[str, float]

    @property
    def gap(self) -> float:
        """The forward KL's Pass@k less the reverse KL's, at equal strength (theory B9)."""
        return self.pass_at_k["forward KL"] - self.pass_at_k["reverse KL"]


def directions(config: Config, blocks: Sequence[SweepBlock]) -> list[Direction]:
    """The directions at the configured conditioning, place by place with strengths rising."""
    g = config.conditionings.index(config.conditioning)
    rows = []
    for place in PLACES:
        at_place = {block.divergence: block for block in blocks if block.place == place}
        chosen = {name: at_place[divergence.name] for name, divergence in config.divergences.items()}
        for column, strength in enumerate(config.strengths):
            rows.append(
                Direction(
                    place=place,
                    strength=strength,
                    pass_at_1={name: block.pass_at_1[g][column] for name, block in chosen.items()},
                    pass_at_k={name: block.pass_at_k[g][column] for name, block in chosen.items()},
                )
            )
    return rows


def meter(config: Config, blocks: Sequence[SweepBlock]) -> list[Warnings]:
    """The collapse meter as a warning over all trainings of the sweep, at each threshold."""
    return [
        Warnings(rise, tuple(lead for block in blocks for lead in _leads(block, index)))
        for index, rise in enumerate(config.rises)
    ]


def _leads(block: SweepBlock, rise: int) -> Iterator[LeadTime]:
    for warned, fallen in zip(block.meter_step[rise], block.coverage_step, strict=True):
        yield from map(LeadTime, warned, fallen)


def findings(config: Config, results: StrategiesResults) -> list[str]:
    """Training without and with an anchor, when the direction of its KL matters, and random tasks."""
    base, k = results.base, config.coverage_draws
    free, held = results.method("GRPO"), results.method("DPH-F")
    rows = [row for row in directions(config, results.sweep) if row.place == "D_pef"]
    widest, strongest = max(rows, key=lambda row: abs(row.gap)), rows[-1]
    changes = "; ".join(
        "{} {:+.3f} ({:+.3f} to {:+.3f})".format(row.name, *row.pass_at_k_change)
        for row in results.random_tasks
    )
    return [
        f"The base has Pass@1 {base.pass_at_1:.3f} and Pass@{k} {base.pass_at_k:.3f}; GRPO ends at "
        f"{free.pass_at_1:.3f} and {free.pass_at_k:.3f}, DPH-F (GRPO with a forward-KL anchor on the prompts "
        f"D_pef that the base solves, strength {config.strength:g}) at {held.pass_at_1:.3f} and "
        f"{held.pass_at_k:.3f}.",
        "At equal strength eta f''(1), eta the weight of the KL, its direction on D_pef matters most at "
        f"{widest.strength:g}: Pass@{k} is {widest.pass_at_k['forward KL']:.3f} with the forward and "
        f"{widest.pass_at_k['reverse KL']:.3f} with the reverse KL; at strength {strongest.strength:g} the "
        f"two differ by {abs(strongest.gap):.4f}.",
        f"Over {config.random_tasks} random tasks the mean change of Pass@{k} (with its 95% interval) is: "
        f"{changes}.",
    ]


def tables(record: dict[str, Any]) -> list[Table]:
    """The methods, training without an anchor, places and directions, targets, the meter, random tasks.

    Raises ValueError for what is no record of this experiment.
    """
    config, results = read(record)
    return [
        _methods(config, results),
        _without_anchor(config, results),
        _directions(config, directions(config, results.sweep)),
        _targets(config, results.targets),
        _meter(config, meter(config, results.sweep)),
        _random_tasks(config, results),
    ]


def _methods(config: Config, results: StrategiesResults) -> Table:
    k = config.coverage_draws
    headers = (
        "eta",
        "Pass@1",
        f"Pass@{k}",
        "excess KL",
        "guarantee on E",
        "its least margin",
        "entropy on E",
    )
    shown: list[tuple[str, ...]] = []
    first = ("base", "0", 0.0, results.base)
    rows = [(row.name, f"{row.eta:g}", row.guarantee_margin, row) for row in results.methods]
    for name, eta, margin, row in (first, *rows):
        cells = (row.pass_at_1, row.pass_at_k, row.excess_kl, row.guarantee, margin, row.easy_entropy)
        shown.append((name, eta, *(f"{cell:.3f}" for cell in cells)))
    return Table.of(("method", *headers), shown, f"Methods at g = {config.conditioning:g}")


def _without_anchor(config: Config, results: StrategiesResults) -> Table:
    k, free = config.coverage_draws, results.sweep[0]
    title = "GRPO by conditioning g: 0 for strategies that all types share, large for each type's own"
    shown: list[tuple[str, ...]] = []
    for g, (one,), (many,) in zip(free.conditioning, free.pass_at_1, free.pass_at_k, strict=True):
        shown.append((f"{g:g}", f"{one:.3f}", f"{many:.3f}"))
    return Table.of(("g", "Pass@1", f"Pass@{k}"), shown, title)


def _directions(config: Config, rows: Sequence[Direction]) -> Table:
    k = config.coverage_draws
    names = list(rows[0].pass_at_k)
    title = f"Pass@1 / Pass@{k} by place, strength and direction of the penalty"
    shown: list[tuple[str, ...]] = []
    for row in rows:
        cells = (f"{row.pass_at_1[name]:.3f} / {row.pass_at_k[name]:.3f}" for name in names)
        shown.append((row.place, f"{row.strength:g}", *cells, f"{row.gap:+.4f}"))
    return Table.of(("place", "eta f''(1)", *names, f"gap in Pass@{k}"), shown, title)


def _targets(config: Config, found: Targets) -> Table:
    reached = [f"reached, g = {g:g}" for g in config.conditionings]
    headers = ("target", "beta", "unrestricted", "best of family", *reached)
    shown: list[tuple[str, ...]] = []
    columns = (found.beta, found.unrestricted, found.best_of_family, *found.reached)
    for target, *cells in zip(found.target, *columns, strict=True):
        shown.append((f"{target:g}", *(f"{cell:.4f}" for cell in cells)))
    return Table.of(headers, shown, "KL control: mean validity predicted and reached")


def _meter(config: Config, rows: Sequence[Warnings]) -> Table:
    headers = ("rise in nats", "fell", "warned before", "median lead", "shortest lead", "false alarms")
    title = f"The collapse meter before Pass@{config.coverage_draws} falls by {config.fall:g}"
    shown: list[tuple[str, ...]] = []
    for row in rows:
        all_, fell, ahead = len(row.leads), len(row.fallen), row.steps_ahead
        leads = (f"{np.median(ahead):g}", f"{min(ahead):g}") if ahead else ("-", "-")
        counts = (f"{fell} of {all_}", f"{row.warned_before} of {fell}")
        shown.append((f"{row.rise:g}", *counts, *leads, f"{row.false_alarms} of {all_ - fell}"))
    return Table.of(headers, shown, title)


def _random_tasks(config: Config, results: StrategiesResults) -> Table:
    k = config.coverage_draws
    title = f"{config.random_tasks} random tasks: mean changes with 95% intervals"
    headers = ("Pass@1", f"Pass@{k}", f"Pass@1 up and Pass@{k} down")
    shown: list[tuple[str, ...]] = []
    for row in results.random_tasks:
        changes = (row.pass_at_1_change, row.pass_at_k_change)
        cells = ("{:+.3f} ({:+.3f} to {:+.3f})".format(*change) for change in changes)
        shown.append((row.name, *cells, f"{row.rise_and_fall:.0%}"))
    return Table.of(("method", *headers), shown, title)
