"""Verification of the registry: each statement and its false variants, over processes."""

import os
import re
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from math import inf
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import numpy as np

from ..support.errors import argument_error
from ..support.processes import run_jobs
from ..theorems import SUBJECTS, THEOREMS
from . import examples
from .charts import as_floats
from .reports import FEWEST, NeighbourReport, Report, SearchSettings
from .search import SearchOutcome, plain, sample, search
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
    """Names that select a theorem: its own, its module's, folder's and source's."""
    return (theorem.name, *SUBJECTS[theorem.subject].groups, *map(str.lower, theorem.source.names))


def _fitting(word: str, theorems: Sequence[Theorem]) -> str:
    """Words that propose known names for an unknown one: similar names, titles, sources, or places."""
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
    return f"an entry, a subject, a paper, or a section of one: {', '.join(placed)}"


def verify_one(theorem: Theorem, search_settings: SearchSettings) -> Report:
    """Search, check the stored values and the false variants, and ask Coq's record.

    A false claim has to fail at its counterexample; nothing is searched for. Where a side raises an error at
    a test case, such as one outside the domain of a function that it calls, the entry is FAILED.
    """
    start, seed = time.perf_counter(), zlib.crc32(f"{search_settings.seed}/{theorem.name}".encode())
    try:
        return _verified(theorem, search_settings, start, seed)
    except Exception as error:
        witness, reason = _without_value(theorem, error, seed)
        names = tuple(NeighbourReport(false.name, False) for false in theorem.false_neighbours)
        return Report(
            *(theorem.name, str(theorem.expected), str(Verdict.FAILED), 0, inf),
            *(names, (reason,), time.perf_counter() - start, witness),
        )


def _without_value(theorem: Theorem, error: Exception, seed: int) -> tuple[dict[str, Any] | None, str]:
    """First random test case (of a few) at which a side raises an error, or None; the error in words."""
    witness = None
    for point in sample(theorem.instances, FEWEST, np.random.default_rng(seed)):
        instance = theorem.instances(point[None])
        try:
            theorem.violation(instance)
        except Exception as single:
            error, witness = single, plain(instance)
            break
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}theorems{os.sep}" in frame.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}, in {ours[-1].name}"
    return witness, f"a side has no value at a test case: {type(error).__name__}: {error} ({place})"


def _verified(theorem: Theorem, search_settings: SearchSettings, start: float, seed: int) -> Report:
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


def _verify_by_name(name: str, search_settings: SearchSettings) -> Report:
    return verify_one(THEOREMS[name], search_settings)


def _cost(theorem: Theorem) -> tuple[bool, bool, int]:
    """Sort key that starts slow theorems first: costly test cases, limits, then many false variants."""
    return theorem.share < 1, theorem.relation is Relation.TENDS, len(theorem.false_neighbours)


def verify(
    theorems: Sequence[Theorem],
    search_settings: SearchSettings,
    *,
    on_report: Callable[[Report], None] = lambda report: None,
    workers: int | None = None,
    context: BaseContext | None = None,
) -> list[Report]:
    """Verify theorems in parallel, the costly first, and return the reports in the order asked for.

    `on_report` is called as each ends. An interruption ends the workers and is passed on.
    """
    reports: dict[str, Report] = {}
    job = partial(_verify_by_name, search_settings=search_settings)
    jobs = [theorem.name for theorem in sorted(theorems, key=_cost, reverse=True)]
    # A single job is done here: to start a process takes longer than most theorems do.
    done = (
        run_jobs(job, jobs, workers=workers, one_torch_thread=True, context=context)
        if len(jobs) > 1
        else ((name, job(name)) for name in jobs)
    )
    for name, report in done:
        reports[name] = report
        on_report(report)
    return [reports[theorem.name] for theorem in theorems]
