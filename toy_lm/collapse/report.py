"""The tables that a person reads."""

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from dph_theory.support.record import checked

from .findings import FAMILIES, label, select
from .measure import Row
from .optimum import ENOUGH

NUMBERS = ("validity", "top", "effective", "coverage", "excess_kl")
MEANS = ("validity", "effective_kept", "coverage", "excess_kl")


def tables(record: dict[str, Any]) -> list[Table]:
    """The fits of the reference in each family, targets against what was reached, and rates of collapse.

    Raises ValueError unless it is a record of this experiment.
    """
    results = checked(record, "toy.collapse")["results"]
    reference = results["reference"]
    return [
        *(_fits(reference, family) for family in FAMILIES),
        _targets(reference),
        *(_rates(problem, family) for problem in results["random"] for family in FAMILIES),
    ]


def _fits(reference: dict[str, Any], family: str) -> Table:
    target = reference["targets"][0]
    rate, effective = target["base_rate"], target["effective"]
    title = (
        f"{family} bigrams: optima of reverse KL (lambda), forward KL, alpha-divergences (alpha), and E[v]; "
        f"the base has validity {rate:.4f}, p_* effective number {effective:.3f}"
    )
    table = Table(
        "optimum of", *_named(NUMBERS), "met from", "gap", "ascent", "annealing", title=title, pad_edge=False
    )
    for line in select(reference["fits"], family=family):
        if line["method"] in ("global", "closed form") or line["objective"] == "reward":
            reached = [_reached(reference["fits"], line, method) for method in ("ascent", "annealing")]
            numbers = [f"{float(line[name]):.4f}" for name in NUMBERS]
            table.add_row(escape(label(line)), *numbers, *_certified(line), *reached)
    return table


def _named(columns: Sequence[str]) -> list[str]:
    names = {"effective_kept": "effective kept", "excess_kl": "excess KL"}
    return [names.get(column, column) for column in columns]


def _certified(line: Row) -> tuple[str, str]:
    """From how many of the starts the optimum was met, and how far above it the next minimum lies."""
    if "certificate" not in line:
        return "-", "-"
    certificate = line["certificate"]
    at = " (Dirac)" if certificate["boundary"] else ""
    # In a stored record infinity is a word.
    gap = float(certificate["gap"])
    return f"{certificate['agree']}/{certificate['starts']}{at}", f"{gap:.3f}" if gap < float("inf") else "-"


def _reached(fits: Sequence[Row], line: Row, method: str) -> str:
    """Whether a method reached the global minimum, else how far above it it stopped."""
    if line["objective"] != "reverse_kl":
        return "-"
    (other,) = select(fits, family=line["family"], method=method, **{"lambda": line["lambda"]})
    return "reached" if other["is_global"] else f"{other['above']:+.3f}"


def _targets(reference: dict[str, Any]) -> Table:
    table = Table(
        "target mu", "lambda", *FAMILIES, title="Validity aimed at, and of the optimum", pad_edge=False
    )
    lines = [line for line in select(reference["fits"], method="global") if line.get("mu") is not None]
    for mu in sorted({line["mu"] for line in lines}):
        here = {line["family"]: line for line in select(lines, mu=mu)}
        reached = [f"{here[family]['validity']:.4f}" for family in FAMILIES]
        table.add_row(f"{mu:g}", f"{here[FAMILIES[0]]['lambda']:.4f}", *reached)
    return table


def _rates(problem: dict[str, Any], family: str) -> Table:
    words = f"{problem['valid_words']} of {problem['words']} words valid"
    title = f"{problem['name']}, {family} bigrams; {words}; means over bases"
    headers = ("optimum of", "method", "collapsed", *_named(MEANS), "optimum reached", f"met from {ENOUGH}")
    table = Table(*headers, title=title, pad_edge=False)
    for rate in select(problem["rates"], family=family):
        reached, confirmed = (
            f"{rate[name]}/{rate['bases']}" if name in rate else "-" for name in ("is_global", "confirmed")
        )
        means = (f"{rate[name]:.3f}" for name in MEANS)
        collapsed = f"{rate['collapsed']}/{rate['bases']}"
        table.add_row(escape(label(rate)), rate["method"], collapsed, *means, reached, confirmed)
    return table
