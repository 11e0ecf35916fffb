"""Verification of the registry: each statement and its near-miss statements, over processes."""

import time
import zlib
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from multiprocessing.context import BaseContext

from ..support.errors import argument_error
from ..support.processes import run_jobs
from ..theorems import THEOREMS
from . import examples
from .charts import as_floats
from .reports import NeighbourReport, Report, Settings
from .search import Found, plain, search
from .statement import Relation, Theorem, Verdict
from .ties import untied


def select(names: Sequence[str]) -> list[Theorem]:
    """The theorems with these names, or of these groups and families ("A5", "A" find "A5.validity").

    All of them for no name. Raises ValueError for an unknown name, with the nearest ones.
    """
    if not names:
        return list(THEOREMS.values())
    chosen: dict[str, Theorem] = {}
    for name in names:
        wanted = name.lower()
        found = {k: t for k, t in THEOREMS.items() if wanted in (k.lower(), t.family.lower(), k[0].lower())}
        if not found:
            known = {key.lower(): key for key in THEOREMS}
            nearest = [known[key] for key in get_close_matches(wanted, known, cutoff=0)]
            raise argument_error(
                "theorem", name, f"the nearest names are {', '.join(nearest)}; A5 and A select all of theirs"
            )
        chosen |= found
    return [theorem for theorem in THEOREMS.values() if theorem.name in chosen]


def available(theorem: Theorem) -> bool:
    """Whether this machine has the optional package that the theorem needs, if it needs one."""
    return theorem.needs is None or find_spec(theorem.needs) is not None


def verify_one(theorem: Theorem, settings: Settings) -> Report:
    """Search, the kept values, the near-miss statements, and what Coq says.

    A false claim has to fail at its counterexample; nothing is searched for.
    """
    start, seed = time.perf_counter(), zlib.crc32(f"{settings.seed}/{theorem.name}".encode())
    unexpected = examples.wrong_values(theorem) + untied(theorem)
    if theorem.false:
        found, refuted = _counterexample(theorem)
    else:
        found = search(theorem, settings, seed)
        refuted = found.witness is not None
    fallen = [NeighbourReport(f.name, examples.falls(theorem, f)) for f in theorem.false_neighbours]
    unexpected += [f"near-miss statement not refuted: {each.name}" for each in fallen if not each.refuted]
    verdict = theorem.expected
    if refuted is not theorem.false:
        verdict = Verdict.REFUTED if refuted else Verdict.CHECKED
        unexpected.insert(0, f"{verdict}, expected {theorem.expected}, worst gap {found.worst:.2g}")
    elif verdict is Verdict.PROVED and untied(theorem):
        verdict = Verdict.CHECKED
    seconds = time.perf_counter() - start
    return Report(
        *(theorem.name, str(theorem.expected), str(verdict), found.instances, found.worst),
        *(tuple(fallen), tuple(unexpected), seconds, found.witness),
    )


def _counterexample(theorem: Theorem) -> tuple[Found, bool]:
    """What is found at a false claim's counterexample, and whether it fails."""
    kept = as_floats(theorem.examples[0].parts)
    found = Found(1, float(theorem.violation(kept)[0]), plain(kept))
    return found, examples.fails(theorem, theorem.examples[0].parts)


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
    loading = {t.needs: tuple(o.name for o in chosen if o.needs == t.needs) for t in chosen if t.needs}
    others = sorted((t for t in chosen if not t.needs), key=_cost, reverse=True)
    return [*loading.values(), *((theorem.name,) for theorem in others)]


def _cost(theorem: Theorem) -> tuple[bool, int]:
    """What takes long is to begin first: limits, then what has many neighbours."""
    return theorem.relation is Relation.TENDS, len(theorem.false_neighbours)


def verify(
    theorems: Sequence[Theorem],
    settings: Settings,
    *,
    on_report: Callable[[Report], None] = lambda report: None,
    workers: int | None = None,
    context: BaseContext | None = None,
) -> list[Report]:
    """Verify theorems in parallel, the costly first, and return the reports in the order asked for.

    Those that need what is not installed are left out. `on_report` is called as each ends. An interruption
    ends the workers and is passed on.
    """
    chosen = [theorem for theorem in theorems if available(theorem)]
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
