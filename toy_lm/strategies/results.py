"""What the experiment is run with, and what a record of it says: a frame of trainings, sentences, tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

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
Numbers = Mapping[str, Any]


def read(record: Any) -> tuple[Config, dict[str, Any]]:
    """The configuration and the results of a record; ValueError unless it is one of this experiment."""
    found: dict[str, Any] = checked(record, KIND)
    return from_json(Config, found["config"]), found["results"]


def trainings(sweep: Iterable[Numbers]) -> pd.DataFrame:
    """The trainings of the sweep, a row each, in order.

    Columns: divergence and place (None without an anchor), conditioning, strength eta f''(1), pass_at_1 and
    pass_at_k at the end, `leads`, one LeadTime a threshold.
    """
    rows = []
    for block in sweep:
        what = {"divergence": block.get("divergence"), "place": block.get("place")}
        for i, conditioning in enumerate(block["conditioning"]):
            for j, strength in enumerate(block["strength"]):
                fell = block["coverage_step"][i][j]
                leads = tuple(LeadTime(warned[i][j], fell) for warned in block["meter_step"])
                ends = {name: block[name][i][j] for name in ("pass_at_1", "pass_at_k")}
                rows.append(
                    what | {"conditioning": conditioning, "strength": strength, "leads": leads} | ends
                )
    return pd.DataFrame(rows)


def directions(config: Config, found: pd.DataFrame) -> pd.DataFrame:
    """Pass@1 and Pass@k by direction at the configured conditioning, a row a place and strength.

    Columns are (measure, direction); `gap` is the forward KL's Pass@k less the reverse KL's, at equal
    strength (theory B9).
    """
    names = {divergence.name: name for name, divergence in config.divergences.items()}
    here = found[(found.conditioning == config.conditioning) & found.divergence.isin(names)]
    wide = here.assign(direction=here.divergence.map(names)).pivot_table(
        index=["place", "strength"], columns="direction", values=["pass_at_1", "pass_at_k"], sort=False
    )
    wide["gap", ""] = wide["pass_at_k"]["forward KL"] - wide["pass_at_k"]["reverse KL"]
    return wide


def meter(config: Config, found: pd.DataFrame) -> list[Warnings]:
    """The collapse meter as a warning over all trainings of the sweep, at each threshold."""
    return [
        Warnings(rise, leads)
        for rise, leads in zip(config.rises, zip(*found.leads, strict=True), strict=True)
    ]


def widest(rows: pd.DataFrame) -> pd.Series:
    """The strength at which forward and reverse KL on D_pef differ most in Pass@k."""
    rehearsed = rows.loc["D_pef"]
    return rehearsed.loc[rehearsed["gap"].abs().idxmax()]


def findings(config: Config, results: Numbers) -> list[str]:
    """Training without and with an anchor, when the direction of its KL matters, and random tasks."""
    k, base = config.coverage_draws, results["base"]
    methods = {method["name"]: method for method in results["methods"]}
    free, held = methods["GRPO"], methods["DPH-F"]
    rows = directions(config, trainings(results["sweep"]))
    most, strongest = widest(rows), rows.loc["D_pef"].iloc[-1]
    changes = "; ".join(
        "{} {:+.3f} ({:+.3f} to {:+.3f})".format(row["name"], *row["pass_at_k_change"])
        for row in results["random_tasks"]
    )
    return [
        f"The base has Pass@1 {base['pass_at_1']:.3f} and Pass@{k} {base['pass_at_k']:.3f}; GRPO ends at "
        f"{free['pass_at_1']:.3f} and {free['pass_at_k']:.3f}, DPH-F (GRPO with a forward-KL anchor on the "
        f"prompts D_pef that the base solves, strength {config.strength:g}) at {held['pass_at_1']:.3f} and "
        f"{held['pass_at_k']:.3f}.",
        "At equal strength eta f''(1), eta the weight of the KL, its direction on D_pef matters most at "
        f"{most.name:g}: Pass@{k} is {most['pass_at_k', 'forward KL']:.3f} with the forward and "
        f"{most['pass_at_k', 'reverse KL']:.3f} with the reverse KL; at strength {strongest.name:g} the "
        f"two differ by {abs(strongest['gap', '']):.4f}.",
        f"Over {config.random_tasks} random tasks the mean change of Pass@{k} (with its 95% interval) is: "
        f"{changes}.",
    ]


def tables(record: dict[str, Any]) -> list[Table]:
    """The methods, training without an anchor, places and directions, targets, the meter, random tasks.

    Raises ValueError for what is no record of this experiment.
    """
    config, results = read(record)
    found = trainings(results["sweep"])
    return [
        _methods(config, results),
        _without_anchor(config, found),
        _directions(config, directions(config, found)),
        _targets(config, results["targets"]),
        _meter(config, meter(config, found)),
        _random_tasks(config, results["random_tasks"]),
    ]


def _methods(config: Config, results: Numbers) -> Table:
    shown = {
        "pass_at_1": "Pass@1",
        "pass_at_k": f"Pass@{config.coverage_draws}",
        "excess_kl": "excess KL",
        "guarantee": "guarantee on E",
        "guarantee_margin": "its least margin",
        "easy_entropy": "entropy on E",
    }
    base = {"name": "base", "eta": 0.0, "guarantee_margin": 0.0} | results["base"]
    rows = [
        (row["name"], f"{row['eta']:g}", *(f"{row[name]:.3f}" for name in shown))
        for row in (base, *results["methods"])
    ]
    return Table.of(("method", "eta", *shown.values()), rows, f"Methods at g = {config.conditioning:g}")


def _without_anchor(config: Config, found: pd.DataFrame) -> Table:
    title = "GRPO by conditioning g: 0 for strategies that all types share, large for each type's own"
    free = found[found.place.isna()]
    rows = [
        (f"{g:g}", f"{one:.3f}", f"{many:.3f}")
        for g, one, many in zip(free.conditioning, free.pass_at_1, free.pass_at_k, strict=True)
    ]
    return Table.of(("g", "Pass@1", f"Pass@{config.coverage_draws}"), rows, title)


def _directions(config: Config, rows: pd.DataFrame) -> Table:
    k, names = config.coverage_draws, list(config.divergences)
    title = f"Pass@1 / Pass@{k} by place, strength and direction of the penalty"
    shown = []
    for (place, strength), row in rows.iterrows():
        cells = (f"{row['pass_at_1', name]:.3f} / {row['pass_at_k', name]:.3f}" for name in names)
        shown.append((place, f"{strength:g}", *cells, f"{row['gap', '']:+.4f}"))
    return Table.of(("place", "eta f''(1)", *names, f"gap in Pass@{k}"), shown, title)


def _targets(config: Config, found: Numbers) -> Table:
    reached = [f"reached, g = {g:g}" for g in config.conditionings]
    columns = (found["beta"], found["unrestricted"], found["best_of_family"], *found["reached"])
    rows = [
        (f"{target:g}", *(f"{cell:.4f}" for cell in cells))
        for target, *cells in zip(found["target"], *columns, strict=True)
    ]
    headers = ("target", "beta", "unrestricted", "best of family", *reached)
    return Table.of(headers, rows, "KL control: mean validity predicted and reached")


def _meter(config: Config, rows: Iterable[Warnings]) -> Table:
    headers = ("rise in nats", "fell", "warned before", "median lead", "shortest lead", "false alarms")
    title = f"The collapse meter before Pass@{config.coverage_draws} falls by {config.fall:g}"
    shown: list[tuple[str, ...]] = []
    for row in rows:
        all_, fell, ahead = len(row.leads), len(row.fallen), row.steps_ahead
        leads = (f"{np.median(ahead):g}", f"{min(ahead):g}") if ahead else ("-", "-")
        counts = (f"{fell} of {all_}", f"{row.warned_before} of {fell}")
        shown.append((f"{row.rise:g}", *counts, *leads, f"{row.false_alarms} of {all_ - fell}"))
    return Table.of(headers, shown, title)


def _random_tasks(config: Config, found: Iterable[Numbers]) -> Table:
    k = config.coverage_draws
    title = f"{config.random_tasks} random tasks: mean changes with 95% intervals"
    rows = []
    for row in found:
        changes = (row["pass_at_1_change"], row["pass_at_k_change"])
        cells = ("{:+.3f} ({:+.3f} to {:+.3f})".format(*change) for change in changes)
        rows.append((row["name"], *cells, f"{row['rise_and_fall']:.0%}"))
    return Table.of(("method", "Pass@1", f"Pass@{k}", f"Pass@1 up and Pass@{k} down"), rows, title)
