"""Claims: numbers that the theory puts in a band before the runs, each with a rival explanation."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import inf, isinf
from typing import Any, TypeVar

from dph_theory.support.record import as_json
from dph_theory.support.table import Table

T = TypeVar("T")
LEVEL = 0.9
"""Confidence level of the intervals over seeds."""
ABOVE, BELOW, NEAR = (0, inf), (-inf, 0), (-0.05, 0.05)
"""Bands of differences."""
SHOWN = {
    "held": "as predicted",
    "missed": "outside the predicted range",
    "undecided": "undecided",
    "identity": "identity",
}
"""Words for the outcomes of claims."""


@dataclass(frozen=True)
class Claim:
    """A statement about runs of one seed: a number that should lie in a band, and a rival explanation."""

    name: str
    theory: str
    """The theorem or the earlier runs that imply the statement."""
    statement: str
    rival: str
    value: Callable[..., float]
    """Function from a seed's results to the number; KeyError if a required run is not finished."""
    band: tuple[float, float]
    identity: bool = False
    """True if both sides were found to be the same training: the claim checks the code and cannot fail."""
    of_courses: bool = False
    """True if the value uses whole courses of runs, and not only their final policies."""


@dataclass(frozen=True)
class ClaimVerdict:
    """Mean over seeds with its interval: `held` inside the band, `missed` outside, or `undecided`."""

    mean: float
    low: float
    high: float
    seeds: int
    verdict: str


def over_seeds(value: Callable[..., T], by_seed: Mapping[int, Any], *arguments: Any) -> list[T]:
    """Compute value(runs of a seed, *arguments) for each seed whose required runs are all finished."""
    values = []
    for of_seed in by_seed.values():
        with suppress(KeyError):
            values.append(value(of_seed, *arguments))
    return values


def judge(claim: Claim, values: Sequence[float]) -> ClaimVerdict:
    """Judge a claim: is the Student-t interval of its values, one per seed, inside or outside its band?"""
    from dph_theory.intervals import mean_interval  # Imports scipy, which declarations do not need.

    mean, low, high = map(float, mean_interval(values, confidence=LEVEL))
    least, most = claim.band
    verdict = "undecided"
    if least <= low and high <= most:
        verdict = "identity" if claim.identity else "held"
    elif high < least or low > most:
        verdict = "missed"
    return ClaimVerdict(mean, low, high, len(values), verdict)


def claim_table(claims: Sequence[Claim], verdicts: Mapping[str, ClaimVerdict]) -> Table:
    """Table of all declared claims, judged or not; empty before the first claim is judged."""
    rows = []
    for claim in claims if verdicts else ():
        cells: tuple[Any, ...] = (None, "", "not run")
        if verdict := verdicts.get(claim.name):
            interval = "" if isinf(verdict.low) else f"{verdict.low:+.3f} to {verdict.high:+.3f}"
            cells = (round(verdict.mean, 3), interval, SHOWN[verdict.verdict])
        rows.append((claim.theory, claim.statement, *cells))
    heads = ("theory", "predicted before the runs", "measured", "90% interval", "outcome")
    return Table.from_rows(heads, rows)


def claim_rows(claims: Sequence[Claim], verdicts: Mapping[str, ClaimVerdict]) -> list[dict[str, Any]]:
    """All declared claims for a record, with their judgement if there is one."""
    return [
        {"name": claim.name, "theory": claim.theory, "says": claim.statement, "rival": claim.rival}
        | (as_json(asdict(verdicts[claim.name]), digits=5) if claim.name in verdicts else {})
        for claim in claims
    ]
