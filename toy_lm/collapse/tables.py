"""The tables that a person reads."""

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from .optimum import ENOUGH
from .results import FAMILIES, Fit, RandomBases, Reference, read, select


def tables(record: dict[str, Any]) -> list[Table]:
    """The fits of the reference in each family, jumps, targets and what was reached, rates of collapse.

    Raises ValueError unless it is a record of this experiment.
    """
    results = read(record)
    return [
        *(_fits(results.reference, family) for family in FAMILIES),
        _leaps(results.reference),
        _targets(results.reference),
        *(_rates(problem, family) for problem in results.random for family in FAMILIES),
    ]


def _fits(reference: Reference, family: str) -> Table:
    target = reference.target
    title = (
        f"{family} bigrams: optima of reverse KL (1/beta), forward KL, alpha-divergences (alpha), and E[v]; "
        f"the base has validity {target.base_rate:.4f}, p_* effective number {target.effective:.3f}"
    )
    headers = ("validity", "top", "effective", "coverage", "excess KL", "met from", "gap")
    table = Table("optimum of", *headers, "ascent", "annealing", title=title, pad_edge=False)
    for fit in select(reference.fits, family=family):
        if fit.method in ("global", "closed form") or fit.objective == "reward":
            numbers = (fit.validity, fit.top, fit.effective, fit.coverage, fit.excess_kl)
            reached = [_reached(reference.fits, fit, method) for method in ("ascent", "annealing")]
            cells = (f"{number:.4f}" for number in numbers)
            table.add_row(escape(fit.label), *cells, *_certified(fit), *reached)
    return table


def _certified(fit: Fit) -> tuple[str, str]:
    """From how many of the starts the optimum was met, and how far above it the next minimum lies."""
    found = fit.certificate
    if found is None:
        return "-", "-"
    at = " (Dirac)" if found.boundary else ""
    return f"{found.agree}/{found.starts}{at}", f"{found.gap:.3f}" if found.gap < float("inf") else "-"


def _reached(fits: Sequence[Fit], fit: Fit, method: str) -> str:
    """Whether a method reached the global minimum, else how far above it it stopped."""
    if fit.objective != "reverse_kl":
        return "-"
    (other,) = select(fits, family=fit.family, method=method, inverse_beta=fit.inverse_beta)
    return "reached" if other.is_global else f"{other.above:+.3f}"


def _leaps(reference: Reference) -> Table:
    title = "Between which 1/beta the optimum's validity leaps; at a jump two minima have one value"
    table = Table("family", "leaps between", "jumps at", "both minima exist", title=title, pad_edge=False)
    for leap in reference.leaps:
        jump = ("-", "-")
        if leap.jump is not None:
            jump = (f"{leap.jump:.4f}", f"{leap.high_from:.3f} to {leap.low_until:.3f}")
        table.add_row(leap.family, f"{leap.below:.4g} and {leap.above:.4g}", *jump)
    return table


def _targets(reference: Reference) -> Table:
    title = "Validity aimed at by beta(mu), exact for unrestricted policies, and of the optimum"
    table = Table("target mu", "1/beta", *FAMILIES, title=title, pad_edge=False)
    lines = [fit for fit in select(reference.fits, method="global") if fit.mu is not None]
    for mu in sorted({fit.mu for fit in lines if fit.mu is not None}):
        here = {fit.family: fit for fit in select(lines, mu=mu)}
        reached = [f"{here[family].validity:.4f}" for family in FAMILIES]
        table.add_row(f"{mu:g}", f"{here[FAMILIES[0]].inverse_beta:.4f}", *reached)
    return table


def _rates(problem: RandomBases, family: str) -> Table:
    words = f"{problem.valid_words} of {problem.words} words valid"
    title = f"{problem.name}, {family} bigrams; {words}; means over bases"
    means = ("validity", "effective kept", "coverage", "excess KL")
    headers = ("optimum of", "method", "collapsed", *means, "optimum reached", f"met from {ENOUGH}")
    table = Table(*headers, title=title, pad_edge=False)
    for rate in select(problem.rates, family=family):
        table.add_row(
            escape(rate.label),
            rate.method,
            f"{rate.collapsed}/{rate.bases}",
            *(f"{x:.3f}" for x in (rate.validity, rate.effective_kept, rate.coverage, rate.excess_kl)),
            *("-" if n is None else f"{n}/{rate.bases}" for n in (rate.is_global, rate.confirmed)),
        )
    return table
