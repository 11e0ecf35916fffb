"""Claims: numbers that theory puts into a band before the runs, beside what else they could be."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import inf, isinf
from typing import Any, TypeVar

from dph_theory.support.record import as_json
from dph_theory.support.table import Table

T = TypeVar("T")
LEVEL = 0.9
"""The confidence of the intervals over seeds."""
ABOVE, BELOW, NEAR = (0, inf), (-inf, 0), (-0.05, 0.05)
"""Bands of differences."""


@dataclass(frozen=True)
class Claim:
    """A statement about runs of one seed, as a number that is to lie in a band, and its rival explanation."""

    name: str
    theory: str
    """The theorem or the earlier runs that it follows from."""
    statement: str
    rival: str
    value: Callable[..., float]
    """The number, from what a study gives of one seed; KeyError where a run that it needs is not finished."""
    band: tuple[float, float]
    identity: bool = False
    """Whether the two sides turned out to be one training: it checks the code, and no training could miss."""
    of_courses: bool = False
    """Whether its value takes whole courses of runs and not their ends."""


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim's mean over seeds with its interval: held within the band, missed outside, else undecided."""

    mean: float
    low: float
    high: float
    seeds: int
    verdict: str


def over_seeds(value: Callable[..., T], by_seed: Mapping[int, Any], *arguments: Any) -> list[T]:
    """The value of every seed of which all the runs that it needs are finished."""
    values = []
    for of_seed in by_seed.values():
        with suppress(KeyError):
            values.append(value(of_seed, *arguments))
    return values


def judge(claim: Claim, values: Sequence[float]) -> ClaimVerdict:
    """Judge a claim by the Student-t interval of its values, one for each seed and at least one."""
    from dph_theory.intervals import mean_interval  # scipy, which declarations do not need.

    mean, low, high = map(float, mean_interval(values, confidence=LEVEL))
    least, most = claim.band
    verdict = "undecided"
    if least <= low and high <= most:
        verdict = "identity" if claim.identity else "held"
    elif high < least or low > most:
        verdict = "missed"
    return ClaimVerdict(mean, low, high, len(values), verdict)


def claim_table(claims: Sequence[Claim], verdicts: Mapping[str, ClaimVerdict]) -> Table:
    """All claims that were declared, whatever became of them; no rows before the first one is judged."""
    rows = []
    for claim in claims if verdicts else ():
        cells: tuple[Any, ...] = (None, "", "not run")
        if verdict := verdicts.get(claim.name):
            interval = "" if isinf(verdict.low) else f"{verdict.low:+.3f} to {verdict.high:+.3f}"
            cells = (round(verdict.mean, 3), interval, verdict.verdict)
        rows.append((claim.theory, claim.statement, *cells))
    heads = ("theory", "predicted before the runs", "found", "90% interval", "verdict")
    return Table.from_rows(heads, rows)


def claim_rows(claims: Sequence[Claim], verdicts: Mapping[str, ClaimVerdict]) -> list[dict[str, Any]]:
    """All claims for a record, each as it was judged, if it was."""
    return [
        {"name": claim.name, "theory": claim.theory, "says": claim.statement, "rival": claim.rival}
        | (as_json(asdict(verdicts[claim.name]), digits=5) if claim.name in verdicts else {})
        for claim in claims
    ]
