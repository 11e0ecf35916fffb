"""Verification of the registry: run the checks on theorems and on their false neighbours, over processes."""

import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from multiprocessing.context import BaseContext
from typing import Any

from ..statement.theorem import FalseNeighbour, Relation, Theorem, Verdict
from ..support.errors import argument_error
from ..support.processes import run_jobs
from ..theorems import THEOREMS
from .checks import CHECKS, CheckResult, applies
from .checks.around import certain_box
from .reports import NeighbourReport, Report, Timed
from .settings import Settings

NEIGHBOUR_INSTANCES = 5_000
TIGHT = 0.98
"""The ratio of a tight bound's sides that the searches must reach."""
SEARCHES = ("numeric", "adversarial", "certified")
"""The checks that can refute a false neighbour, which has no derivation."""
QUICK: Mapping[str, Mapping[str, Any]] = {
    "adversarial": {"population": 64, "generations": 5, "polish": 10},
    "certified": {"count": 4},
    "symbolic": {"first_only": True},
}
"""The short form's options of the checks of a theorem."""
GIVEN_BY = {Verdict.PROVED: "symbolic", Verdict.ENCLOSED: "enclosed", Verdict.CERTIFIED: "certified"}
"""The verdicts above HOLDS, strongest first, with the check that gives them."""
_STRENGTH = tuple(Verdict)
"""The members stand from strongest to weakest."""
RESTARTS = 3
"""Searches begun anew for a false neighbour that the first one has missed, which about one in 500 is."""


def select(names: Sequence[str]) -> list[Theorem]:
    """The theorems with these names, or of these groups and families ("A5", "A" find "A5.validity").

    All of them for no name. Raises ValueError for an unknown name, with the nearest ones.
    """
    if not names:
        return list(THEOREMS.values())
    chosen: dict[str, Theorem] = {}
    for name in names:
        wanted = name.lower()
        found = {k: t for k, t in THEOREMS.items() if wanted in _selected_by(k)}
        if not found:
            known = {key.lower(): key for key in THEOREMS}
            nearest = [known[key] for key in get_close_matches(wanted, known, cutoff=0)]
            raise argument_error(
                "theorem", name, f"the nearest names are {', '.join(nearest)}; A5 and A select all of theirs"
            )
        chosen |= found
    return [theorem for theorem in THEOREMS.values() if theorem.name in chosen]


def _selected_by(name: str) -> tuple[str, str, str]:
    """What selects a theorem, in small letters: its name, its group, its family."""
    name = name.lower()
    return name, name.partition(".")[0], name[0]


def expected_verdict(theorem: Theorem, checks: Sequence[str]) -> Verdict:
    """The theorem's verdict if the check that gives it is asked for, else the strongest that others can give.

    A theorem expected to be proved that has no derivation is thus not as expected.
    """
    if theorem.expected is Verdict.REFUTED:
        return Verdict.REFUTED
    for verdict, check in GIVEN_BY.items():
        weaker = _STRENGTH.index(verdict) - _STRENGTH.index(theorem.expected)
        if check in checks and (weaker == 0 or (weaker > 0 and applies(check, theorem))):
            return verdict
    return Verdict.HOLDS


def overall(results: Sequence[CheckResult]) -> Verdict:
    """REFUTED or UNDECIDED if any check says so, else the strongest verdict."""
    found = {result.verdict for result in results}
    ranking = (Verdict.REFUTED, Verdict.UNDECIDED, *_STRENGTH)
    return next(verdict for verdict in ranking if verdict in found)


def seed_for(seed: int, name: str) -> int:
    """A seed of its own for each theorem and neighbour, the same in every process and run."""
    return zlib.crc32(f"{seed}/{name}".encode())


def _run_check(check: str, theorem: Theorem, seed: int, instances: int, **options: Any) -> CheckResult:
    if check == "numeric":
        options["instances"] = instances
    return CHECKS[check](theorem, seed=seed, **options)


def _timed(check: str, theorem: Theorem, settings: Settings, *, quick: bool) -> Timed:
    start, seed = time.perf_counter(), seed_for(settings.seed, theorem.name)
    options = QUICK.get(check, {}) if quick else {}
    result = _run_check(check, theorem, seed, settings.instances, **options)
    return Timed(result, time.perf_counter() - start)


def verify_one(theorem: Theorem, settings: Settings) -> Report:
    """Run the selected checks on a theorem and on its false neighbours.

    Where the short search comes near no equality that a bound is said to have, the long one follows.
    """
    checks = [check for check in settings.selected if applies(check, theorem)]
    timed = {check: _timed(check, theorem, settings, quick=settings.quick) for check in checks}
    if settings.quick and "adversarial" in timed and _tight(theorem, timed.values()) is False:
        timed["adversarial"] = _timed("adversarial", theorem, settings, quick=False)
    neighbours = [attack(theorem, false, settings) for false in theorem.false_neighbours]
    return Report(
        theorem.name,
        str(theorem.source),
        expected_verdict(theorem, settings.selected),
        overall([t.result for t in timed.values()]),
        tuple(timed.values()),
        tuple(n for n in neighbours if n is not None),
        theorem.given,
        _tight(theorem, timed.values()),
    )


def _tight(theorem: Theorem, timed: Iterable[Timed]) -> bool | None:
    """Whether a bound called tight came near equality in the checks that search."""
    ratios = [t.result.tightness for t in timed if t.result.check in ("numeric", "adversarial")]
    if not theorem.tight or not ratios:
        return None
    return max(ratio if ratio is not None else -1.0 for ratio in ratios) > TIGHT


def attack(theorem: Theorem, false: FalseNeighbour, settings: Settings) -> NeighbourReport | None:
    """Turn the selected checks on a false neighbour; None unless the adversarial one is among them.

    It must succeed, whatever the others find: random instances are not asked to find what nearly all of them
    obey. The short form leaves the others out. In the long form a neighbour of an enclosed statement must
    also be certain to fail on a box.
    """
    statement = theorem.changed(false)
    searches = [c for c in settings.checks if c in SEARCHES and applies(c, statement)]
    if statement.symbolic is not None and "symbolic" in settings.checks:
        searches.append("symbolic")
    if "adversarial" not in searches:
        return None
    if settings.quick:
        searches = ["adversarial"]
    seed = seed_for(settings.seed, f"{theorem.name}/{false.name}")
    few = min(NEIGHBOUR_INSTANCES, settings.instances)
    options = {"adversarial": {"restarts": RESTARTS, "readable": not settings.quick}}
    results = [_run_check(check, statement, seed, few, **options.get(check, {})) for check in searches]
    found = {result.check: result for result in results if result.verdict is Verdict.REFUTED}
    witness = next((r.witness for r in found.values() if r.witness), None)
    asked = "enclosed" in settings.selected and applies("enclosed", theorem)
    box = certain_box(statement, witness, seed) if asked and witness else None
    if box is not None:
        witness = dict(box[0])
    within = box and box[1]
    return NeighbourReport(false.name, "adversarial" in found, tuple(found), witness, within, asked)


def _verify_by_name(names: tuple[str, ...], settings: Settings) -> list[Report]:
    """The reports of the theorems of one job."""
    found = []
    for name in names:
        try:
            found.append(verify_one(THEOREMS[name], settings))
        except Exception as error:
            error.add_note(f"while checking {name}")
            raise
    return found


def _jobs(chosen: Sequence[Theorem]) -> list[tuple[str, ...]]:
    """One theorem a job, the costly first; those that load a package share one, so that it is loaded once."""
    loading: dict[str, list[str]] = {}
    for theorem in chosen:
        if theorem.needs is not None:
            loading.setdefault(theorem.needs, []).append(theorem.name)
    others = sorted((t for t in chosen if t.needs is None), key=_cost, reverse=True)
    return [*map(tuple, loading.values()), *((theorem.name,) for theorem in others)]


def verify(
    theorems: Sequence[Theorem],
    settings: Settings,
    *,
    on_report: Callable[[Report], None] = lambda report: None,
    workers: int | None = None,
    context: BaseContext | None = None,
) -> list[Report]:
    """Verify theorems in parallel, the costly first, and return the reports in the order asked for.

    Theorems that have none of the selected checks are left out. `on_report` is called as each ends.
    An interruption ends the workers and is passed on.
    """
    chosen = [t for t in theorems if any(applies(check, t) for check in settings.selected)]
    reports: dict[str, Report] = {}
    job, jobs = partial(_verify_by_name, settings=settings), _jobs(chosen)
    # A single job is done here: to start a process takes longer than most theorems do.
    done = (
        run_jobs(job, jobs, workers=workers, one_torch_thread=True, context=context)
        if len(jobs) > 1
        else ((names, job(names)) for names in jobs)
    )
    for _, found in done:
        for report in found:
            reports[report.theorem] = report
            on_report(report)
    return [reports[theorem.name] for theorem in chosen]


def _cost(theorem: Theorem) -> tuple[bool, int]:
    """What takes long is to begin first: limits, then what has many neighbours."""
    return theorem.relation is Relation.TENDS, len(theorem.false_neighbours)
