"""The records that figures and the report read, each as its own classes, and where they are kept."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import PlainValidator

from dph_theory.atlas.table import Row
from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_json
from dph_theory.support.record import checked, from_json
from dph_theory.verification.reports import Report

if TYPE_CHECKING:
    from toy_lm.collapse.results import CollapseResults as Collapse
    from toy_lm.strategies.results import Config as StrategiesConfig
    from toy_lm.strategies.results import StrategiesResults as Strategies
    from toy_lm.styles.results import StylesResults as Styles


def _array(value: Any) -> np.ndarray:
    return np.asarray(value, dtype=float)


Array = Annotated[np.ndarray, PlainValidator(_array)]
"""Floats, read from nested lists; None is read as nan, and "inf" as infinite."""


NUMBERS = Path(__file__).parent / "numbers"
"""The committed numbers; drawings are made from these."""


def load(name: str, kind: str, folder: Path = NUMBERS) -> dict[str, Any]:
    """The stored record of that name and kind; ValueError if it is not there, or is something else."""
    path = folder / f"{name}.json"
    if not path.is_file():
        raise argument_error("numbers", str(path), "stored numbers; --recompute makes them")
    try:
        return checked(json.loads(path.read_text(encoding="utf-8")), kind)
    except json.JSONDecodeError as error:
        raise argument_error(
            "numbers", str(path), f"valid JSON ({error}); --recompute makes it anew"
        ) from error


def save(name: str, numbers: dict[str, Any], folder: Path = NUMBERS) -> Path:
    """Store a record under its name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    write_json(path, numbers)
    return path


@dataclass(frozen=True)
class Statement:
    """What theory says of one run on one set of prompts, and what was measured there.

    `relation` is that of estimate to prediction, `margin` what sampling may move their difference by.
    """

    name: str
    theory: str
    relation: str
    estimate: float
    prediction: float
    margin: float
    verdict: str


@dataclass(frozen=True)
class DemoDifference:
    """A difference between methods: its sign by the literature, and here, 0 where none can be told."""

    expected: int
    found: int


@dataclass(frozen=True)
class Measure:
    """A measure of a method, one value a seed; none where it is not defined."""

    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Everything that figures read of a demo: `methods` holds its measures by name, by method."""

    set: str
    prompts: int
    checks: tuple[Statement, ...]
    predictions: tuple[Statement, ...]
    differences: tuple[DemoDifference, ...]
    methods: Mapping[str, Mapping[str, Measure]]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> "Demo":
        """The demo of a record; ValueError names what it lacks."""
        return from_json(cls, record["results"])


FORMS = {
    "k3": "k3 in the loss",
    "k3_corrected": "corrected k3 in the loss",
    "k2": "k2 in the loss",
    "sequence_kl": "KL of the answer in the reward",
    "future_kl": "corrected k3 with the future KL",
}
"""The penalties of which theory E predicts a law, in words."""
LAWS = ("token forward KL", "token reverse KL", "sequence reverse KL")


@dataclass(frozen=True, kw_only=True)
class LawRun:
    """A run: how it was trained, the law predicted, and exact measures at its end (law_: at its law).

    `judged`: it has a law and was meant to reach it. `verdict` looks at the nearest law and the validity,
    `full_verdict` at KL(run || law) too. `kl` holds KL(run || law) by law, in nats. What was not asked or not
    predicted is None.
    """

    experiment: str
    task: str
    form: str
    seed: int
    digest: str
    judged: bool
    verdict: str
    full_verdict: str
    validity: float
    first_share: float
    effective_answers: float
    pass_at_16: float
    kl: dict[str, float]
    beta: float
    steps: int
    learning_rate: float
    dapo: bool
    annealed_from: float | None = None
    rehearsed: str | None = None
    rank: int | None = None
    law: str | None = None
    nearest: str | None = None
    law_validity: float | None = None
    law_first_share: float | None = None
    law_effective_answers: float | None = None
    scale: str = "none"
    group_size: int = 0
    groups: int = 1
    optimiser: str = "adam"
    constant: bool = False
    baseline: str = "mean"
    updates: int = 1
    lowered_under: float | None = None
    favourite_share: float | None = None
    kl_to_law: float | None = None
    why_missed: str | None = None
    twin_validity: float | None = None
    twin_favourite_share: float | None = None
    twin_kl_to_law: float | None = None
    twin_validity_deviation: float | None = None
    twin_favourite_odds_deviation: float | None = None
    twin_frozen_kernel: float | None = None
    twin_tabular_formula: float | None = None

    @property
    def held(self) -> bool:
        """Whether it held to its law by every bar."""
        return self.full_verdict == "held"


@dataclass(frozen=True, kw_only=True)
class Course:
    """Exact measures along a run, after so many steps: those that are drawn of its experiment."""

    digest: str
    step: tuple[int, ...]
    validity: tuple[float, ...] = ()
    lost_share: tuple[float, ...] = ()
    excess_kl: tuple[float, ...] = ()
    favourite_share: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Flow:
    """The lost answers' share by time along the flow of a form's expected update, from `lost` at the start.

    `collapsed`: training without KL has lost them. `half_time`: when half the base's share has come back;
    None where it never has.
    """

    form: str
    lost: float
    collapsed: bool
    half_time: float | None
    times: tuple[float, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Way:
    """A run that starts with answers lost: its own half time, and the place of its flow among the flows."""

    digest: str
    flow: int
    half_time: float | None


@dataclass(frozen=True)
class Experiment:
    """How many runs of an experiment are planned, over all its seeds."""

    experiment: str
    planned: int


@dataclass(frozen=True, kw_only=True)
class Laws:
    """The record: its runs, their courses, the ways back with their flows, and what is planned."""

    runs: tuple[LawRun, ...]
    courses: tuple[Course, ...]
    ways_back: tuple[Way, ...]
    flows: tuple[Flow, ...]
    experiments: tuple[Experiment, ...]
    findings: tuple[str, ...]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> "Laws":
        """The laws of a record, which keeps its runs as columns; ValueError names what it lacks."""
        columns = record["results"]["runs"]
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        runs = [row | {"kl": _by_law(row)} for row in rows]
        return from_json(cls, {**record["results"], "runs": runs, "findings": record["findings"]})

    def of(self, *experiments: str, **fields: Any) -> list[LawRun]:
        """The runs of those experiments, or of all, with those values of their fields.

        Raises ValueError that says which command makes them, where there are none.
        """
        wanted = [run for run in self.runs if not experiments or run.experiment in experiments]
        found = [run for run in wanted if all(getattr(run, name) == value for name, value in fields.items())]
        if not found:
            asked = [*experiments, *(f"{name}={value}" for name, value in fields.items())]
            makes = " and ".join(f"dph laws --only {name}" for name in experiments) or "dph laws"
            raise argument_error(
                "laws", f"no run of {', '.join(asked)}", f"a record of such runs; {makes} makes them"
            )
        return found

    def planned(self, experiment: str) -> int:
        """How many runs an experiment of the record is to have."""
        return next(e.planned for e in self.experiments if e.experiment == experiment)

    def judged(self) -> list[LawRun]:
        """The runs that are meant to reach a law, and so held to it."""
        return [run for run in self.runs if run.judged]

    def courses_of(self, runs: Sequence[LawRun]) -> dict[str, Course]:
        """What was measured along these runs, by their digest."""
        wanted = {run.digest for run in runs}
        return {course.digest: course for course in self.courses if course.digest in wanted}


def _by_law(row: Mapping[str, Any]) -> dict[str, float]:
    known = {name: kl for name, kl in row.items() if name.startswith("kl ") and kl is not None}
    return {name.removeprefix("kl "): kl for name, kl in known.items()}


@dataclass(frozen=True, kw_only=True)
class AuditLine:
    """What the audit found of one published form, in words."""

    form: str
    samples: str
    value: str
    gradient: str
    minimiser: str
    variance: str
    dead_zones: str


@dataclass(frozen=True)
class _Verdicts:
    reports: tuple[Report, ...]


@dataclass(frozen=True)
class _Audit:
    forms: tuple[AuditLine, ...]


def read_verdicts(record: Mapping[str, Any]) -> dict[str, Report]:
    """The reports of a record of verdicts, by theorem; ValueError names what it lacks."""
    return {report.theorem: report for report in from_json(_Verdicts, record["results"]).reports}


def read_audit(record: Mapping[str, Any]) -> tuple[AuditLine, ...]:
    """The lines of a record of the audit; ValueError names what it lacks."""
    return from_json(_Audit, record["results"]).forms


@dataclass(frozen=True)
class AtlasEnd:
    """Where a training ends: the pass rate, and each right answer's share of it, the short one last."""

    validity: float
    shares: tuple[float, ...]


@dataclass(frozen=True)
class AtlasTraining:
    """A method's prediction, its runs, and the total variation between each and the prediction."""

    method: str
    predicted: AtlasEnd
    runs: tuple[AtlasEnd, ...]
    gaps: tuple[float, ...]


@dataclass(frozen=True)
class Atlas:
    """What `dph atlas-runs` stored: the cells of theory by method, the base, and the trainings."""

    rows: tuple[Row, ...]
    base: AtlasEnd
    trained: tuple[AtlasTraining, ...]


Record = Mapping[str, Any]

FULL_SCALE = {
    "demo": ("full_scale_demo", "full_scale.demo"),
    "laws": ("laws", "laws"),
    "atlas": ("atlas", "atlas"),
}
"""Records of full-scale runs, which no figure computes: by name, their file's name and kind."""


def with_full_scale(names: Iterable[str], folder: Path) -> None:
    """Copy the committed records of full-scale runs among those names to a folder without its own."""
    for file, kind in (FULL_SCALE[name] for name in names if name in FULL_SCALE):
        if not (folder / f"{file}.json").exists():
            save(file, load(file, kind), folder)


def stored_name(name: str, quick: bool) -> str:
    """The name under which an experiment's record is kept."""
    return f"toy_{name}{'_quick' if quick else ''}"


@dataclass(frozen=True)
class Records:
    """Records by name, read when they are asked for; ValueError for one that is not among them."""

    stored: Mapping[str, Record]

    @classmethod
    def load(cls, names: Iterable[str], *, quick: bool = False, folder: Path = NUMBERS) -> "Records":
        """The records of those names in the folder; ValueError if one is not there, or is broken."""
        own = ((name, (stored_name(name, quick), f"toy.{name}")) for name in names)
        return cls({name: load(*FULL_SCALE.get(name, toy), folder) for name, toy in own})

    def __contains__(self, name: str) -> bool:
        return name in self.stored

    def of(self, name: str) -> Record:
        """A record as it is stored."""
        if name not in self.stored:
            raise argument_error("record", name, f"one of {', '.join(self.stored) or 'no others'}")
        return self.stored[name]

    # The packages are imported as they are needed: figures of the theory read none of them.
    @cached_property
    def collapse(self) -> "Collapse":
        """What `dph toy collapse` found."""
        from toy_lm.collapse import read

        return read(self.of("collapse"))

    @cached_property
    def strategies(self) -> "tuple[StrategiesConfig, Strategies]":
        """How `dph toy strategies` was set up, and what it found."""
        from toy_lm.strategies import read

        return read(self.of("strategies"))

    @cached_property
    def styles(self) -> "Styles":
        """What `dph toy styles` found."""
        from toy_lm.styles import read

        return read(self.of("styles"))

    @cached_property
    def demo(self) -> Demo:
        """What `dph demo` found."""
        return Demo.read(self.of("demo"))

    @cached_property
    def laws(self) -> Laws:
        """The runs of `dph laws`."""
        return Laws.read(self.of("laws"))

    @cached_property
    def atlas(self) -> Atlas:
        """What each method selects, and where its trainings ended."""
        return from_json(Atlas, self.of("atlas")["results"])
