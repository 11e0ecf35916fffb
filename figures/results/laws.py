"""The record of the laws of training: its runs, and what was measured along them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.frozen import from_json

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
    first_share: tuple[float, ...] = ()
    excess_kl: tuple[float, ...] = ()


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
