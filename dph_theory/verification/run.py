"""Verification of the registry: run the checks on theorems and on their false neighbours, over processes."""

import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from multiprocessing.context import BaseContext
from typing import Any

import numpy as np

from ..statement.charts import as_floats
from ..statement.theorem import FalseNeighbour, Relation, Theorem, Verdict
from ..support.errors import argument_error
from ..support.processes import run_jobs
from ..theorems import THEOREMS
from .checks import CHECKS, CheckResult, applies, available
from .checks.result import plain
from .checks.witness import certain_around, refuted_by, witnesses
from .reports import NeighbourReport, Report
from .settings import Settings

QUICK: Mapping[str, Mapping[str, Any]] = {
    "adversarial": {"population": 64, "generations": 5, "polish": 10},
    "certified": {"count": 4},
    "symbolic": {"first_only": True},
}
"""The short form's options of the checks of a theorem."""
GIVEN_BY = {Verdict.DERIVED: "symbolic", Verdict.ENCLOSED: "enclosed", Verdict.CERTIFIED: "certified"}
"""The verdicts between PROVED and HOLDS, strongest first, with the check that gives them."""
_STRENGTH = tuple(Verdict)
"""The members stand from strongest to weakest."""


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


def given_by(theorem: Theorem, verdict: Verdict) -> str | None:
    """The check that gives a theorem a verdict above HOLDS; None for other verdicts.

    A proof is the kernel's, where it has all of the statement, or else claims of the derivation.
    """
    if verdict is Verdict.PROVED:
        return "kernel" if theorem.proved_in_kernel else "symbolic"
    return GIVEN_BY.get(verdict)


def expected_verdict(theorem: Theorem, checks: Sequence[str]) -> Verdict:
    """The theorem's verdict if the check that gives it is asked for, else the strongest that others can give.

    A theorem expected to be proved that has no derivation is thus not as expected.
    """
    giving = given_by(theorem, theorem.expected)
    if theorem.expected is Verdict.REFUTED or giving is None or giving in checks:
        return theorem.expected
    weaker = _STRENGTH[_STRENGTH.index(theorem.expected) + 1 :]
    others = ((verdict, GIVEN_BY[verdict]) for verdict in weaker if verdict in GIVEN_BY)
    found = (verdict for verdict, check in others if check in checks and applies(check, theorem))
    return next(found, Verdict.HOLDS)


def kernel_theorems() -> list[str]:
    """The theorems of the kernel that entries of the registry or their false neighbours name."""
    named = (kernel.theorem for theorem in THEOREMS.values() for kernel in theorem.kernels)
    return sorted(set(named))


def overall(results: Sequence[CheckResult], given: Iterable[Verdict] = ()) -> Verdict:
    """REFUTED or UNDECIDED if any check says so, else the strongest verdict.

    A derivation is worth no more than the entries that it rests on, whose verdicts are `given`.
    """
    weakest = max(given, key=_STRENGTH.index, default=Verdict.PROVED)
    found = {r.verdict.at_most([weakest]) if r.check == "symbolic" else r.verdict for r in results}
    ranking = (Verdict.REFUTED, Verdict.UNDECIDED, *_STRENGTH)
    return next(verdict for verdict in ranking if verdict in found)


def seed_for(seed: int, name: str) -> int:
    """A seed of its own for each theorem and neighbour, the same in every process and run."""
    return zlib.crc32(f"{seed}/{name}".encode())


def _timed(check: str, theorem: Theorem, settings: Settings) -> CheckResult:
    start, seed = time.perf_counter(), seed_for(settings.seed, theorem.name)
    options = dict(QUICK.get(check, {})) if settings.quick else {}
    if check == "numeric":
        options["instances"] = settings.instances
    result = CHECKS[check](theorem, seed=seed, **options)
    return replace(result, seconds=time.perf_counter() - start)


def verify_one(theorem: Theorem, settings: Settings) -> Report:
    """Run the selected checks on a theorem; its false neighbours and kept values are checked in every run."""
    checks = [check for check in settings.selected if applies(check, theorem)]
    results = tuple(_timed(check, theorem, settings) for check in checks)
    given = {name: THEOREMS[name].expected for name in theorem.given}
    found = overall(results, given.values())
    if found is Verdict.PROVED and theorem.proved_in_kernel:
        given = {}  # The kernel's proof is complete: only the derivation rests on other entries.
    return Report(
        theorem.name,
        str(theorem.source),
        expected_verdict(theorem, settings.selected),
        found,
        results,
        tuple(at_witness(theorem, false, settings) for false in theorem.false_neighbours),
        given,
        tightness(theorem),
        wrong_values(theorem),
    )


def tightness(theorem: Theorem) -> float | None:
    """The ratio of a bound's sides at the instance kept to show that it is tight; None without one."""
    if theorem.tight is None:
        return None
    return theorem.measured(as_floats(theorem.tight.parts))[1]


def wrong_values(theorem: Theorem) -> tuple[str, ...]:
    """What an example is said to give and does not, to the digits written or the theorem's tolerance."""
    last = {"eps": theorem.ladder[-1]} if theorem.relation is Relation.TENDS else {}
    wrong = []
    for number, example in enumerate(theorem.examples, 1):
        for side, kept in (("lhs", example.lhs), ("rhs", example.rhs)):
            if kept is None:
                continue
            lhs, rhs = theorem.sides(as_floats(example.parts), **last)
            found = np.asarray((lhs if side == "lhs" else rhs)[0])
            if not _agree(found, kept, theorem.tolerance):
                wrong.append(f"example {number}: {side} = {found.tolist()}, not {' '.join(kept.ravel())}")
    return tuple(wrong)


def _agree(found: np.ndarray, kept: np.ndarray, tolerance: float) -> bool:
    """Whether numbers are those written, to one unit of their last digit or the tolerance.

    One number may be written for several components that are alike.
    """
    if kept.size not in (1, found.size):
        return False
    units = np.array([_last_unit(str(word)) for word in kept.ravel()])
    written = kept.ravel().astype(float)
    near = np.maximum(units, tolerance * np.maximum(1.0, np.abs(written)))
    with np.errstate(invalid="ignore"):  # Infinities less infinities; equal ones agree.
        apart = np.abs(found.ravel() - written)
    return bool(np.all((found.ravel() == written) | (apart <= near)))


def _last_unit(number: str) -> float:
    """One unit of a decimal's last digit: .001 for ".250"."""
    exponent = Decimal(number).as_tuple().exponent
    return float(Decimal(1).scaleb(exponent)) if isinstance(exponent, int) else 0.0


def at_witness(theorem: Theorem, false: FalseNeighbour, settings: Settings) -> NeighbourReport:
    """Whether a false neighbour fails at its kept witness, or at an example of the theorem.

    In the long form a neighbour of an enclosed statement must also be certain to fail on a box around it.
    Nothing here is searched for or drawn at random.
    """
    statement = theorem.changed(false)
    asked = "enclosed" in settings.selected and applies("enclosed", theorem)
    found = NeighbourReport(false.name, "", None, None, asked)
    for witness in witnesses(theorem, false) if available(theorem) else ():
        by = refuted_by(statement, witness)
        if by:
            within = certain_around(statement, witness) if asked else None
            found = replace(found, refuted_by=by, witness=plain(witness), certain_within=within)
            if within is not None or not asked:
                break
    return found


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
