"""What runs say together: how many matched their prediction and why others did not, and what figures read."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from statistics import fmean, stdev
from typing import Any, NamedTuple

from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json
from dph_theory.support.table import Table

from ..enumerable_tasks.exact import Exact
from ..kept import Answer, Asked, store
from .experiments import experiments, quick_runs, record_runs
from .flow import LostFlow, ways_back
from .record import LOST, LUCK, NO_TWIN, TIME, UNEXPLAINED, FinishedRun, Twin, luck, twin_in, why_missed
from .runs import SEQUENCE, TOKEN_FORWARD, TOKEN_REVERSE, Run
from .study import KIND, PREDICTION, Study

Twins = Mapping[str, Twin]
CAUSES = {
    TIME: "too few steps",
    LUCK: "sampling noise",
    LOST: "noise beyond first order",
    UNEXPLAINED: "unexplained",
    NO_TWIN: "without an expected-gradient run",
}
"""What a miss comes from, in words."""


class Tally(NamedTuple):
    """How many runs of an experiment are done, and matched their prediction."""

    experiment: str
    asked: int
    runs: int
    judged: int
    """Those that have a stationary policy and were meant to reach it."""
    held: int
    """By all bars."""
    held_but_for_answers: int
    """By the nearest policy and the pass rate alone."""
    missed_by: Mapping[str, int]
    """The misses by `why_missed`."""


def is_judged(outcome: FinishedRun) -> bool:
    """Whether the run has a stationary policy and was meant to reach it."""
    known = experiments().get(outcome.run.experiment)
    return outcome.law is not None and (known is None or known.to_the_end)


def tallies(runs: Sequence[Run], outcomes: Sequence[FinishedRun], twins: Twins) -> list[Tally]:
    """A `Tally` for each experiment of the runs asked for, in their order."""
    found = []
    for name, asked in Counter(run.experiment for run in runs).items():
        done = [outcome for outcome in outcomes if outcome.run.experiment == name]
        judged = [outcome for outcome in done if is_judged(outcome)]
        held, but_for_answers = (sum(set(o.misses) <= of for o in judged) for of in (set(), {"answers"}))
        causes = Counter(why for o in judged if (why := why_missed(o, twin_in(twins, o.run))))
        found.append(Tally(name, asked, len(done), len(judged), held, but_for_answers, causes))
    return found


def tally_table(found: Sequence[Tally]) -> Table:
    """A row an experiment: how many of its runs are done, how many converged, why the others did not."""
    known = experiments()
    rows = [
        (
            tally.experiment,
            known[tally.experiment].question if tally.experiment in known else "",
            f"{tally.runs} of {tally.asked}",
            f"{tally.held} of {tally.judged}" if tally.judged else "",
            ", ".join(f"{count} {CAUSES[cause]}" for cause, count in tally.missed_by.items()),
        )
        for tally in found
    ]
    return Table.of(("experiment", "", "runs", "converged", "missed by"), rows)


def findings(outcomes: Sequence[FinishedRun], twins: Twins) -> list[str]:
    """How many runs of each experiment that is meant to converge matched, and why the others did not."""
    found = tallies([outcome.run for outcome in outcomes], outcomes, twins)
    return [
        *(_of_tally(tally) for tally in found if tally.judged),
        *_near_their_twins(outcomes, twins),
        *_of_random_rewards(outcomes, twins),
    ]


def _of_tally(tally: Tally) -> str:
    missed_by = tally.missed_by
    causes = [f"{missed_by[cause]} {words}" for cause, words in CAUSES.items() if missed_by.get(cause)]
    missed = f" (missed: {', '.join(causes)})" if causes else ""
    return (
        f"{tally.experiment}: {tally.held} of {tally.judged} runs converged to their stationary policy"
        f"{missed}; by the nearest policy and the pass rate alone {tally.held_but_for_answers}."
    )


def _near_their_twins(outcomes: Sequence[FinishedRun], twins: Twins) -> list[str]:
    """Of experiments without a stationary policy: how many runs lie where noise is predicted to put them."""
    found: dict[str, list[dict[str, float]]] = {}
    for outcome in outcomes:
        twin = twin_in(twins, outcome.run)
        if outcome.law is None and twin is not None and (departures := luck(outcome, twin)):
            found.setdefault(outcome.run.experiment, []).append(departures)
    words = {"validity": "pass rate", "favourite_odds": "log odds of correct answers"}
    sentences = []
    for name, runs in found.items():
        counts = [
            f"{sum(abs(departure) <= 2 for departure in of)} of {len(of)} in the {said}"
            for measure, said in words.items()
            if (of := [run[measure] for run in runs if measure in run])
        ]
        sentences.append(
            f"{name}: within two predicted std of the expected-gradient run {', '.join(counts)}."
        )
    return sentences


def _of_random_rewards(outcomes: Sequence[FinishedRun], twins: Twins) -> list[str]:
    """How far entropy moved where rewards are a coin, by task, updates and clip, and how far on samples."""
    groups: dict[tuple[Any, ...], list[FinishedRun]] = {}
    for outcome in outcomes:
        if not outcome.run.informative:
            run = outcome.run
            groups.setdefault((run.experiment, run.task, run.updates, run.clip), []).append(outcome)
    sentences = []
    for (name, task, updates, clip), of in groups.items():
        begun = of[0].course[0].exact.entropy or 0.0
        moved = _mean_and_error([(outcome.last.exact.entropy or 0.0) - begun for outcome in of])
        twin = twin_in(twins, of[0].run)
        sampled = twin and twin.sampled and _mean_and_error([end.entropy - begun for end in twin.sampled])
        sentences.append(
            f"{name}: entropy moved by {moved} on {task}, updates {updates}{f', clip {clip}' if clip else ''}"
            f"{f'; {len(twin.sampled)} trainings on samples: {sampled}' if twin and sampled else ''}."
        )
    return sentences


def _mean_and_error(values: Sequence[float]) -> str:
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else math.inf
    return f"{fmean(values):+.4f} +- {error:.4f}"


AT_LAW: Mapping[str, Callable[[Exact], float]] = {
    "validity": lambda exact: sum(exact.validity) / len(exact.validity),
    "first_share": attrgetter("first_share"),
    "effective_answers": attrgetter("effective_answers"),
}
MEASURES: Mapping[str, Callable[[Exact], float]] = {
    **AT_LAW,
    "favourite_share": attrgetter("favourite_share"),
    "pass_at_16": lambda exact: exact.pass_at_k[-1],
}
"""Of a run's end; those before of its stationary policy too."""
LAWS = (TOKEN_FORWARD, TOKEN_REVERSE, SEQUENCE)
"""Those whose distances are shown."""


def facts(outcome: FinishedRun, twin: Twin | None) -> dict[str, Any]:
    """A run's line of the table that figures read; what has no value, or None, is not known.

    Its fields and digest; judged (`is_judged`), `law` (predicted), nearest, full_verdict, kl_to_law; MEASURES
    at the end, AT_LAW at its stationary policy as law_validity and so on, means over rows; `kl <law>`:
    KL(run || law); what sampling noise is to do to the log odds, by its adjoint and by RIVALS; why_missed.
    """
    law, of_twin = outcome.law, {}
    if twin is not None:
        of_twin = {"favourite_odds_deviation": twin.deviations.get("favourite_odds"), **twin.rivals}
    return {
        **asdict(outcome.run),
        "digest": outcome.run.digest,
        "judged": is_judged(outcome),
        "law": law.law if law else None,
        "nearest": outcome.nearest,
        "full_verdict": outcome.verdict,
        "kl_to_law": outcome.kl_to_law,
        **{name: of(outcome.last.exact) for name, of in MEASURES.items()},
        **({f"law_{name}": of(law.exact) for name, of in AT_LAW.items()} if law else {}),
        **{f"twin_{name}": value for name, value in of_twin.items()},
        "why_missed": why_missed(outcome, twin),
        **{f"kl {name}": outcome.last.kl[name] for name in LAWS if name in outcome.last.kl},
    }


def results(outcomes: Sequence[FinishedRun], twins: Twins, flows: Mapping[str, LostFlow]) -> dict[str, Any]:
    """What figures read: `runs`, a column a fact, and `ways_back`; five digits, more than a run can show."""
    told = [facts(outcome, twin_in(twins, outcome.run)) for outcome in outcomes]
    columns = dict.fromkeys(name for line in told for name in line)
    runs = {name: [line.get(name) for line in told] for name in columns}
    return {"runs": as_json(runs, digits=5), **ways_back(outcomes, flows)}


def told(asked: Asked, *, twins: bool = False, progress: Progress = silent) -> Answer:
    """Run what is declared and not finished, unless it is to be listed, and report what came of it.

    With `twins`, of finished runs too what of each miss is too few steps, what sampling noise.
    """
    runs = quick_runs() if asked.quick else record_runs(asked.only, asked.seeds)
    study = Study(asked.folder, asked.workers, progress)
    if asked.packed is not None:
        study.kept.adopt(asked.packed)
    if not asked.listed:
        study.run(runs, explained=not asked.quick)
        if twins:
            study.explain(runs)
    outcomes, found = study.outcomes(runs), study.twins
    said = findings(outcomes, found)
    if asked.json_path is not None:
        config = {"experiments": sorted({outcome.run.experiment for outcome in outcomes})}
        store(asked.json_path, KIND, config, results(outcomes, found, study.flows), said)
    if asked.pack is not None:
        study.kept.pack(asked.pack, without=PREDICTION)
    return Answer([tally_table(tallies(runs, outcomes, found))], said)
