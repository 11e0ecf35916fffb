"""`dph experiment` with a study of eight short jobs, as a process of its own that may be killed."""

import sys
import time
from dataclasses import dataclass
from typing import Any

from dph_cli import main
from dph_theory.support.table import Table
from full_scale.experiments import runner
from full_scale.experiments.runner import RUN, Step, Study, StudyReport


@dataclass(frozen=True)
class _Square:
    number: int
    experiment: str = "squares"
    seed: int | None = None

    @property
    def id(self) -> str:
        return f"square-{self.number}"


def square(number: int) -> dict[str, Any]:
    """A row of about 2 kB, made in a fifth of a second."""
    time.sleep(0.2)
    sys.stderr.write(f"made {number}\n")
    return {"square": number**2, "padding": "x" * 2000}


def _steps(store: Any, runs: Any, options: Any) -> Any:
    yield Step(RUN, "support.small_study:square", {run.id: (run.number,) for run in runs}, side_by_side=True)


def _report(store: Any, runs: Any, options: Any) -> StudyReport:
    squares = [row["square"] for row in store.read(RUN, dict[str, Any], [run.id for run in runs]).values()]
    table = Table.from_rows(("squares",), [(str(squares),)])
    return StudyReport([table], [f"The squares are {squares}."], lambda: ({}, {"squares": squares}))


STUDY = Study(
    name="small",
    kind="tests.small",
    questions={"squares": "What are the squares?"},
    declared=lambda: [_Square(number) for number in range(8)],
    quick=lambda: [_Square(0)],
    steps=_steps,
    report=_report,
    identity=lambda options: {"power": 2},
)

if __name__ == "__main__":
    runner.study_named = lambda name: STUDY
    main(["experiment", "sql", *sys.argv[1:]])
