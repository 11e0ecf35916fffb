"""Runs taken together: how many held, the record that figures read, and the table that is printed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dph_theory.support.frozen import as_json

from ..evaluation.exact import Exact
from .experiments import EXPERIMENTS
from .outcome import Outcome


@dataclass(frozen=True)
class Tally:
    """How many runs of an experiment held to their law."""

    experiment: str
    question: str
    to_the_end: bool
    """Whether its runs are meant to reach their law: only these are judged."""
    planned: int
    """Runs that it is to have, over all its seeds."""
    runs: int
    judged: int
    held: int
    """By all bars."""
    held_but_for_answers: int
    """By the nearest law and the validity alone."""


def is_judged(outcome: Outcome) -> bool:
    """Whether the run has a law and was meant to reach it."""
    name = outcome.run.experiment
    return outcome.law is not None and (name not in EXPERIMENTS or EXPERIMENTS[name].to_the_end)


def tallies(outcomes: Sequence[Outcome]) -> list[Tally]:
    """A `Tally` for each experiment, in the order of the runs."""
    return [
        _tally(name, [outcome for outcome in outcomes if outcome.run.experiment == name])
        for name in {outcome.run.experiment: None for outcome in outcomes}
    ]


def _tally(name: str, outcomes: Sequence[Outcome]) -> Tally:
    known = EXPERIMENTS.get(name)
    judged = [outcome for outcome in outcomes if is_judged(outcome)]
    return Tally(
        experiment=name,
        question=known.question if known else "",
        to_the_end=known.to_the_end if known else True,
        planned=sum(len(known.runs(seed)) for seed in range(known.seeds)) if known else len(outcomes),
        runs=len(outcomes),
        judged=len(judged),
        held=sum(outcome.full_verdict == "held" for outcome in judged),
        held_but_for_answers=sum(outcome.verdict == "held" for outcome in judged),
    )


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The record's results, compact: `runs`, a column a fact, and `courses`, along training.

    runs: every field of `Run`; digest, judged (its experiment runs to the end, and has a law), law
    (predicted), nearest, verdict, full_verdict, gap, kl_to_law; MEASURES at the end, and the first three at
    its law as law_validity and so on, means over rows; "kl <law>": KL(run || law); "limit <law>":
    KL(limit || run); null where there is none. experiments: a `Tally` each. courses, of the experiments in
    ALONG: digest, step and what stands there. Five digits, more than a run can tell, few enough to read.
    """
    facts = [_facts(outcome) for outcome in outcomes]
    columns = {name: None for fact in facts for name in fact}
    results = {
        "experiments": tallies(outcomes),
        "runs": {name: [fact.get(name) for fact in facts] for name in columns},
        "courses": [_course(outcome) for outcome in outcomes if outcome.run.experiment in ALONG],
    }
    return as_json(results, digits=5)


MEASURES = ("validity", "first_share", "effective_answers", "excess_kl", "favourite_share", "pass_at_16")
ALONG = {"way_back": ("first_share",), "budget_and_family": ("validity", "excess_kl")}
"""Experiments whose courses are drawn, and what of them."""


def _facts(outcome: Outcome) -> dict[str, Any]:
    """A run's line of the table."""
    law = outcome.law
    at_law = {f"law_{name}": _measure(law.exact, name) for name in MEASURES[:3]} if law else {}
    return {
        **asdict(outcome.run),
        "digest": outcome.run.digest,
        "judged": is_judged(outcome),
        "law": law.law if law else None,
        "nearest": outcome.nearest,
        "verdict": outcome.verdict,
        "full_verdict": outcome.full_verdict,
        "gap": outcome.gap,
        "kl_to_law": outcome.kl_to_law,
        **{name: _measure(outcome.last.exact, name) for name in MEASURES},
        **at_law,
        **{f"kl {name}": value for name, value in outcome.last.kl.items()},
        **{f"limit {name}": value for name, value in outcome.limits.items()},
        "seconds": round(outcome.seconds, 1),
    }


def _course(outcome: Outcome) -> dict[str, Any]:
    names = ALONG[outcome.run.experiment]
    measured = {name: [_measure(point.exact, name) for point in outcome.course] for name in names}
    return {"digest": outcome.run.digest, "step": [point.step for point in outcome.course], **measured}


def _measure(exact: Exact, name: str) -> Any:
    if name == "pass_at_16":
        return exact.pass_at_k[-1]
    return _mean(exact.validity) if name == "validity" else getattr(exact, name)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


HEADERS = (
    "task",
    "form",
    "beta",
    "G",
    "seed",
    "law predicted",
    "V, law",
    "V, run",
    "nearest",
    "KL to it",
    "",
)


def table_rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """A row for each run, under HEADERS."""
    return [_row(outcome) for outcome in outcomes]


def _row(outcome: Outcome) -> tuple[str, ...]:
    run, law = outcome.run, outcome.law
    return (
        run.task,
        run.form,
        f"{run.beta:g}",
        f"{run.group_size}{', normalised' if run.scale == 'group' else ''}",
        str(run.seed),
        law.law if law else "",
        f"{_mean(law.exact.validity):.4f}" if law else "",
        f"{_mean(outcome.last.exact.validity):.4f}",
        outcome.nearest or "",
        f"{outcome.distances[outcome.nearest]:.4f}" if outcome.nearest else "",
        outcome.full_verdict,
    )
