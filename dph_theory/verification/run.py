"""Verification of the registry: each statement and its false variants, over processes."""

import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from multiprocessing.context import BaseContext

from ..support.errors import argument_error
from ..support.processes import run_jobs
from ..theorems import SUBJECTS, THEOREMS
from . import examples
from .charts import as_floats
from .reports import NeighbourReport, Report, SearchSettings
from .search import SearchOutcome, plain, search
from .statement import Relation, Theorem, Verdict
from .ties import untied

_NEAREST = 8
"""So many names at most are proposed."""


def select(names: Sequence[str], paper: str | None = None) -> list[Theorem]:
    """The theorems of these names, or of these modules, folders, papers or places in a paper.

    "kl_control.pass_rate" is one entry, "kl_control" a module's, "binary_rewards" a folder's. "li2025choice",
    "Li", "2509.07430" and "Theorem 1" select what is claimed there, "Theorem 3.1" all of its parts. All for
    no name; with a paper's key only its claims. Raises ValueError for an unknown name, with those that fit.
    """
    theorems = [t for t in THEOREMS.values() if paper is None or paper in str(t.source)]
    words = [name.lower() for name in names]
    for name, word in zip(names, words, strict=True):
        if not any(word in _groups(theorem) for theorem in theorems):
            raise argument_error("theorem", name, _fitting(word, theorems))
    return [theorem for theorem in theorems if not words or not {*words}.isdisjoint(_groups(theorem))]


def _groups(theorem: Theorem) -> tuple[str, ...]:
    """The names that select a theorem: its own, its module's and folder's, its source's."""
    return (theorem.name, *SUBJECTS[theorem.subject].groups, *map(str.lower, theorem.source.names))


def _fitting(word: str, theorems: Sequence[Theorem]) -> str:
    """Proposals for an unknown name: near ones, entries with its words in title or source, or places."""
    groups = {group: theorem.name for theorem in theorems for group in _groups(theorem)}
    groups |= {key: key for key in {theorem.source.key for theorem in theorems}}
    texts = {theorem.name: f"{theorem.title} {theorem.source}".lower() for theorem in theorems}
    words = [re.compile(rf"(?<!\w){re.escape(part)}") for part in word.split()]
    nearest = dict.fromkeys(groups[group] for group in get_close_matches(word, groups) if len(words) == 1)
    if not nearest:
        nearest = dict.fromkeys(
            name for name, text in texts.items() if all(part.search(text) for part in words)
        )
    if nearest:
        return f"the nearest names are {', '.join([*nearest][:_NEAREST])}"
    entries = Counter(t.source for t in theorems if t.source.place and t.source.key != "ours")
    placed = [
        f"'{source.place.partition(';')[0]}' of {source.key}"
        for source, number in entries.items()
        if number > 1
    ]
    return f"an entry, a subject, a paper, or a place in one: {', '.join(placed)}"


def available(theorem: Theorem) -> bool:
    """True if this machine has the optional package that the theorem needs, if it needs one."""
    return theorem.needs is None or find_spec(theorem.needs) is not None


def verify_one(theorem: Theorem, search_settings: SearchSettings) -> Report:
    """Search, check the stored values and the false variants, and ask Coq's record.

    A false claim has to fail at its counterexample; nothing is searched for.
    """
    start, seed = time.perf_counter(), zlib.crc32(f"{search_settings.seed}/{theorem.name}".encode())
    reasons_untied = untied(theorem)
    unexpected = examples.wrong_values(theorem) + examples.cannot_fail(theorem) + reasons_untied
    if theorem.false:
        counterexample = as_floats(theorem.examples[0].parts)
        outcome = SearchOutcome(1, float(theorem.violation(counterexample)[0]), plain(counterexample))
        refuted = examples.fails(theorem, counterexample)
    else:
        outcome = search(theorem, search_settings, seed)
        refuted = outcome.witness is not None
    fallen = [NeighbourReport(f.name, examples.falls(theorem, f)) for f in theorem.false_neighbours]
    unexpected += [
        f"false variant not rejected: {neighbour.name}" for neighbour in fallen if not neighbour.refuted
    ]
    verdict = theorem.expected
    if refuted is not theorem.false:
        verdict = Verdict.REFUTED if refuted else Verdict.CHECKED
        unexpected.insert(0, f"{verdict}, expected {theorem.expected}, worst gap {outcome.worst:.2g}")
    elif verdict is Verdict.PROVED and reasons_untied:
        verdict = Verdict.CHECKED
    seconds = time.perf_counter() - start
    return Report(
        *(theorem.name, str(theorem.expected), str(verdict), outcome.instances, outcome.worst),
        *(tuple(fallen), tuple(unexpected), seconds, outcome.witness),
    )


def _verify_by_name(names: tuple[str, ...], search_settings: SearchSettings) -> list[Report]:
    """The reports of the theorems of one job."""
    reports = []
    for name in names:
        try:
            reports.append(verify_one(THEOREMS[name], search_settings))
        except Exception as error:
            error.add_note(f"while checking {name}")
            raise
    return reports


def _jobs(chosen: Sequence[Theorem]) -> list[tuple[str, ...]]:
    """One theorem a job, the costly first; those that load a package share one, so that it is loaded once."""
    loading = {t.needs: tuple(o.name for o in chosen if o.needs == t.needs) for t in chosen if t.needs}
    light = sorted((t for t in chosen if not t.needs), key=_cost, reverse=True)
    return [*loading.values(), *((theorem.name,) for theorem in light)]


def _cost(theorem: Theorem) -> tuple[bool, int]:
    """Sort key that starts slow theorems first: limits, then what has many neighbours."""
    return theorem.relation is Relation.TENDS, len(theorem.false_neighbours)


def verify(
    theorems: Sequence[Theorem],
    search_settings: SearchSettings,
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
    job, jobs = partial(_verify_by_name, search_settings=search_settings), _jobs(chosen)
    # A single job is done here: to start a process takes longer than most theorems do.
    done = (
        run_jobs(job, jobs, workers=workers, one_torch_thread=True, context=context)
        if len(jobs) > 1
        else ((names, job(names)) for names in jobs)
    )
    for _, job_reports in done:
        for report in job_reports:
            reports[report.theorem] = report
            on_report(report)
    return [reports[theorem.name] for theorem in chosen]
