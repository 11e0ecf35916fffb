"""What is kept of a run, and of runs taken together: how many held, what figures read, what is printed."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from types import MappingProxyType
from typing import Any

from dph_theory.support.record import as_json
from dph_theory.support.table import Table

from ..evaluation.exact import Exact
from .experiments import experiments
from .runs import Run


@dataclass(frozen=True)
class Bounds:
    """The most by which a run that obeys its law may miss it."""

    validity: float
    """Of the mean |V - law's V|."""
    kl: float
    """Of the mean KL(run || law), in nats.

    Chosen before any run was held to it. By Pinsker's inequality the run and the law then give no set of
    answers probabilities further apart than sqrt(kl/2), .1 (selection: .07); and it takes 1/kl answers, 50
    (100), until they carry a nat of evidence that the run is not the law. Validity and the nearest law alone
    let a run hold whose valid answers have collapsed: P(first | valid) .99 for .90 are .07 nats.
    """


BARS, SELECTION_BARS = Bounds(0.02, 0.02), Bounds(0.01, 0.01)


def bars_of(task: str) -> Bounds:
    """Those of a task."""
    return SELECTION_BARS if task.startswith("selection") else BARS


@dataclass(frozen=True)
class PredictedLaw:
    """A law's exact measures, computed before the run; the run's own law stands first among its rivals."""

    law: str
    exact: Exact


@dataclass(frozen=True)
class RunPoint:
    """The policy after so many steps: its measures, and KL(run || law) of each law predicted, by name."""

    step: int
    exact: Exact
    kl: Mapping[str, float]


ALIKE = 1e-6
"""Nats by which distances must differ to tell two laws apart: on some tasks two of them coincide."""


def nearest_of(distances: Mapping[str, float]) -> str | None:
    """The first name whose distance is the least, or as good as it; None of none."""
    least = min(distances.values(), default=math.inf)
    return next((name for name, distance in distances.items() if distance <= least + ALIKE), None)


@dataclass(frozen=True)
class FinishedRun:
    """A finished run with what was predicted of it."""

    run: Run
    predictions: tuple[PredictedLaw, ...]
    course: tuple[RunPoint, ...]
    limits: Mapping[str, float]
    """KL(limit || run) of what each form selects as beta -> 0, and of a run's targets, by name."""
    seconds: float

    @property
    def last(self) -> RunPoint:
        """The end of the run."""
        return self.course[-1]

    @property
    def law(self) -> PredictedLaw | None:
        """What theory says of the run's end; None where it says nothing."""
        return self.predictions[0] if self.predictions else None

    @property
    def distances(self) -> Mapping[str, float]:
        """KL(run || law) of each law predicted; of a target (`Run.target`), KL(target || run)."""
        known = {**self.limits, **self.last.kl}
        return {prediction.law: known[prediction.law] for prediction in self.predictions}

    @property
    def nearest(self) -> str | None:
        """The law at the least distance; None where none was predicted."""
        return nearest_of(self.distances)

    @property
    def kl_to_law(self) -> float | None:
        """The distance to the run's own law."""
        return self.distances[self.law.law] if self.law else None

    @property
    def gap(self) -> float | None:
        """The mean over rows of |V - V of the predicted law|."""
        if self.law is None:
            return None
        pairs = list(zip(self.last.exact.validity, self.law.exact.validity, strict=True))
        return sum(abs(found - predicted) for found, predicted in pairs) / len(pairs)

    @property
    def bars(self) -> Bounds:
        """Those of the run's task."""
        return bars_of(self.run.task)

    @property
    def verdict(self) -> str:
        """held, or what was missed: the law (a rival is nearer), the validity (beyond its bar), or both."""
        return self._verdict(("law", "validity"))

    @property
    def full_verdict(self) -> str:
        """The same, and whether the answers are distributed as by the law (the bar on the KL to it)."""
        return self._verdict(("law", "validity", "answers"))

    def _verdict(self, asked: Sequence[str]) -> str:
        if self.law is None or self.gap is None or self.kl_to_law is None:
            return "no law"
        misses = {
            "law": self.nearest != self.law.law,
            "validity": self.gap > self.bars.validity,
            "answers": self.kl_to_law > self.bars.kl,
        }
        missed = [name for name in asked if misses[name]]
        return f"missed: {' and '.join(missed)}" if missed else "held"


TWINNED = ("none", "k2", "k3", "k3_corrected", "sequence_kl", "future_kl")
"""The forms whose expected update is a function of the policy that is known in closed form."""


RIVALS = FROZEN, TABULAR = "frozen_kernel", "tabular_formula"
"""Accounts of luck beside the adjoint: the kernel of the model at its start for ever, at every N; and one
logit an answer, at the step in logits that this kernel gives two right answers (theory G3, SGD alone)."""


@dataclass(frozen=True)
class SampledEnd:
    """Where the same training on sampled answers ends, without a trainer: the noise, not its first order."""

    gap: float
    """As of a `FinishedRun`; 0 where there is no law, as the next."""
    kl_to_law: float
    entropy: float


@dataclass(frozen=True)
class Twin:
    """Where the noiseless twin of a run ends, and how far seeds are to lie from it.

    `kl`: KL(twin || law) of each law predicted. `deviations` over seeds, of first order in the noise, none
    for long trainings: of the validity and of the log odds of the base's favourite among valid answers.
    """

    run: Run
    exact: Exact
    kl: Mapping[str, float]
    deviations: Mapping[str, float]
    law_validity: tuple[float, ...] | None = None
    """Of each row at the run's own law."""
    rivals: Mapping[str, float] = field(default_factory=dict)
    """The deviation of the favourite's log odds by cruder accounts, of runs without a penalty (`RIVALS`)."""
    sampled: tuple[SampledEnd, ...] = ()
    """Of as many seeds; none where the first order explains every run."""


def expected_kl(found: Twin) -> float:
    """The KL to the twin that luck is to bring, as far as the two deviations tell, to first order."""
    rate, share = fmean(found.exact.validity), found.exact.favourite_share
    of_rate = found.deviations["validity"] ** 2 / (rate * (1 - rate))
    return (of_rate + rate * share * (1 - share) * found.deviations["favourite_odds"] ** 2) / 2


def twin_of(run: Run) -> Run | None:
    """The run that stands for all that have its twin; None for those that have none here.

    They have other forms, several rounds or updates a batch, no reward, a beta that samples decide, or
    penalised rewards over their deviation, whose update is no function of the policy alone (theory G2).
    """
    sampled = run.lowered_under is not None or (run.form == "sequence_kl" and run.scale == "group")
    if (
        run.sampler is not None
        or run.form not in TWINNED
        or run.rounds > 1
        or run.updates > 1
        or not run.reward
        or sampled
    ):
        return None
    seed = run.seed if run.rank is not None or run.collapsed else 0
    return replace(run, experiment="twin", seed=seed, every=0)


def twin_in(twins: Mapping[str, Twin], run: Run) -> Twin | None:
    """The run's twin among those of a journal, if it is there."""
    stands_for = twin_of(run)
    return None if stands_for is None else twins.get(stands_for.id)


DEVIATIONS = 3
"""A run this many predicted deviations from its twin is not where luck alone puts it."""
CAUSES = TIME, LUCK, LOST, UNEXPLAINED, NO_TWIN = (
    "time",
    "luck",
    "luck beyond first order",
    "unexplained",
    "no twin",
)


def why_missed(outcome: FinishedRun, twin: Twin | None) -> str | None:
    """What a miss comes from; None for a run that holds, or has no law.

    "time": the noiseless twin misses the law too, by the same bars. "luck": it does not, and the run lies
    within DEVIATIONS of it. "luck beyond first order": the run lies further off, or no deviations were
    carried so far, and of the same training on samples some ends as far from the law. "unexplained": none
    does, or none was sampled. "no twin": none was trained.
    """
    if outcome.full_verdict in ("held", "no law") or outcome.law is None:
        return None
    if twin is None:
        return NO_TWIN
    nearest = nearest_of(twin.kl)
    pairs = list(zip(twin.exact.validity, outcome.law.exact.validity, strict=True))
    gap = sum(abs(found - predicted) for found, predicted in pairs) / len(pairs)
    arrived = nearest == outcome.law.law and gap <= outcome.bars.validity
    if not arrived or twin.kl[outcome.law.law] > outcome.bars.kl:
        return TIME
    departures = luck(outcome, twin)
    if departures and all(abs(value) <= DEVIATIONS for value in departures.values()):
        return LUCK
    ends = [(outcome.bars.validity, outcome.bars.kl), *((end.gap, end.kl_to_law) for end in twin.sampled)]
    furthest = [max(column) for column in zip(*ends, strict=True)]
    reached = (outcome.gap or 0.0) <= furthest[0] and (outcome.kl_to_law or 0.0) <= furthest[1]
    return LOST if reached else UNEXPLAINED


def luck(outcome: FinishedRun, twin: Twin) -> dict[str, float]:
    """How far the run is from its twin, in predicted deviations, by measure."""
    moved = {"validity": _mean(outcome.last.exact.validity) - _mean(twin.exact.validity)}
    if twin.exact.favourite_share < 1 - 1e-9:  # Else a row has one right answer, and there are no odds.
        moved["favourite_odds"] = _odds(outcome.last.exact) - _odds(twin.exact)
    return {name: gap / twin.deviations[name] for name, gap in moved.items() if twin.deviations.get(name)}


def _odds(exact: Exact) -> float:
    """The log odds of the base's favourite among valid answers."""
    share = min(max(exact.favourite_share, 1e-15), 1 - 1e-15)
    return math.log(share / (1 - share))


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
    missed_by: Mapping[str, int]
    """The misses by `why_missed`."""


def is_judged(outcome: FinishedRun) -> bool:
    """Whether the run has a law and was meant to reach it."""
    known = experiments().get(outcome.run.experiment)
    return outcome.law is not None and (known is None or known.to_the_end)


def tallies(outcomes: Sequence[FinishedRun], twins: Mapping[str, Twin] = MappingProxyType({})) -> list[Tally]:
    """A `Tally` for each experiment, in the order of the runs."""
    return [
        _tally(name, [outcome for outcome in outcomes if outcome.run.experiment == name], twins)
        for name in {outcome.run.experiment: None for outcome in outcomes}
    ]


def _tally(name: str, outcomes: Sequence[FinishedRun], twins: Mapping[str, Twin]) -> Tally:
    known = experiments().get(name)
    judged = [outcome for outcome in outcomes if is_judged(outcome)]
    return Tally(
        experiment=name,
        question=known.question if known else "",
        to_the_end=known.to_the_end if known else True,
        planned=known.planned if known else len(outcomes),
        runs=len(outcomes),
        judged=len(judged),
        held=sum(outcome.full_verdict == "held" for outcome in judged),
        held_but_for_answers=sum(outcome.verdict == "held" for outcome in judged),
        missed_by=dict(Counter(w for o in judged if (w := why_missed(o, twin_in(twins, o.run))))),
    )


def summary(
    outcomes: Sequence[FinishedRun], twins: Mapping[str, Twin] = MappingProxyType({})
) -> dict[str, Any]:
    """The record's results, compact: `runs`, a column a fact, and `courses`, along training.

    runs: every field of `Run`; digest, judged (its experiment runs to the end, and has a law), law
    (predicted), nearest, verdict, full_verdict, kl_to_law; MEASURES at the end, and the first three at its
    law as law_validity and so on, means over rows; "kl <law>": KL(run || law); twin_validity and so on, of
    its noiseless twin, with the deviations predicted, and why_missed; null where there is none. experiments:
    a `Tally` each. courses, of the experiments in ALONG: digest, step and what stands there. Five digits,
    more than a run can tell, few enough to read.
    """
    facts = [_facts(outcome, twin_in(twins, outcome.run)) for outcome in outcomes]
    columns = {name: None for fact in facts for name in fact}
    results = {
        "experiments": tallies(outcomes, twins),
        "runs": {name: [fact.get(name) for fact in facts] for name in columns},
        "courses": [_course(outcome) for outcome in outcomes if outcome.run.experiment in ALONG],
    }
    return as_json(results, digits=5)


MEASURES = ("validity", "first_share", "effective_answers", "favourite_share", "pass_at_16")
OF_TWIN = ("validity", "favourite_share")
ALONG = {
    "way_back": ("lost_share",),
    "budget_and_family": ("validity", "excess_kl"),
    "annealing": ("validity", "excess_kl"),
    "noise_floor": ("favourite_share",),
}
"""Experiments whose courses are drawn, and what of them."""


def _facts(outcome: FinishedRun, twin: Twin | None) -> dict[str, Any]:
    """A run's line of the table."""
    law = outcome.law
    of_twin = {} if twin is None else {f"twin_{name}": _measure(twin.exact, name) for name in OF_TWIN}
    if twin is not None:
        of_twin |= {f"twin_{name}_deviation": value for name, value in twin.deviations.items()}
        of_twin |= {f"twin_{name}": value for name, value in twin.rivals.items()}
        of_twin["twin_kl_to_law"] = twin.kl.get(law.law) if law else None
    at_law = {f"law_{name}": _measure(law.exact, name) for name in MEASURES[:3]} if law else {}
    return {
        **asdict(outcome.run),
        "digest": outcome.run.digest,
        "judged": is_judged(outcome),
        "law": law.law if law else None,
        "nearest": outcome.nearest,
        "verdict": outcome.verdict,
        "full_verdict": outcome.full_verdict,
        "kl_to_law": outcome.kl_to_law,
        **{name: _measure(outcome.last.exact, name) for name in MEASURES},
        **at_law,
        **of_twin,
        "why_missed": why_missed(outcome, twin),
        **{f"kl {name}": value for name, value in outcome.last.kl.items()},
    }


def _course(outcome: FinishedRun) -> dict[str, Any]:
    names = ALONG[outcome.run.experiment]
    measured = {name: [_measure(point.exact, name) for point in outcome.course] for name in names}
    return {"digest": outcome.run.digest, "step": [point.step for point in outcome.course], **measured}


def _measure(exact: Exact, name: str) -> Any:
    if name == "pass_at_16":
        return exact.pass_at_k[-1]
    if name == "lost_share":
        # Of what the first answer leaves the digits count, and not those of a share near one.
        return 1 - exact.first_share
    return _mean(exact.validity) if name == "validity" else getattr(exact, name)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def tally_table(found: Sequence[Tally]) -> Table:
    """A row for each experiment: how many of its runs are done, how many held, why the others did not."""
    rows = [
        (
            tally.experiment,
            tally.question,
            f"{tally.runs} of {tally.planned}",
            f"{tally.held} of {tally.judged}" if tally.judged else "",
            ", ".join(f"{count} {cause}" for cause, count in tally.missed_by.items()),
        )
        for tally in found
    ]
    return Table.of(("experiment", "", "runs", "held to their law", "missed by"), rows)
