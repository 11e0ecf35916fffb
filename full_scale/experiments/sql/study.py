"""The study of the SQL task: the base, the forecasts of the shared strategies, and the runs."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..runner import RUN, RunStore, Step, Study, StudyOptions
from .claims import CLAIMS
from .report import BASE, FORECAST, report
from .runs import ANSWERS, BASE_ANSWERS, MeasuredBase, SqlRun, declared, quick_runs

QUESTIONS = {
    "divisors": "Divided by nothing, the std or the mean, what is left of Pass@k at the end of training?",
    "rehearsal": "What do mass-covering divergences add, by the std and by the mean?",
    "verifier errors": "Does the order of the divisors turn when the verifier errs?",
    "penalties": "What does a KL penalty add, in the loss and in the reward?",
    "groups": "Does a larger group change what a divisor retains?",
    "anchors": "Do anchors of the base replace the answers to solved prompts?",
}
DIVISORS = ("none", "std", "mean")


def steps(store: RunStore, runs: Sequence[SqlRun], options: StudyOptions) -> Iterator[Step]:
    """Measure the base, make forecasts from its counts, then run the declared runs."""
    folder = store.journal.path.parent.resolve()
    room = __package__
    yield Step(BASE, f"{room}.training:measured_base", {"base": (folder,)})
    base = store.read(BASE, MeasuredBase)["base"]
    forecasts = {divisor: (base, divisor, 8) for divisor in DIVISORS}
    yield Step(FORECAST, f"{room}.training:shares_forecast", forecasts)
    jobs = {run.id: (run, folder, base) for run in runs}
    yield Step(RUN, f"{room}.training:conduct", jobs, side_by_side=True)


def identity(options: StudyOptions) -> dict[str, Any]:
    """Sizes that determine the stored rows but are not fields of a run."""
    return {"kind": "sql", "answers": ANSWERS, "base_answers": BASE_ANSWERS}


STUDY = Study(
    name="sql",
    kind="sql",
    questions=QUESTIONS,
    declared=declared,
    quick=quick_runs,
    steps=steps,
    report=report,
    identity=identity,
    claims=CLAIMS,
)
