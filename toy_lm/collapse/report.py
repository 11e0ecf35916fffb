"""The tables that a person reads."""

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from dph_theory.record import checked

from .findings import FAMILIES, select, way
from .measure import Row

NUMBERS = ("validity", "top", "effective", "coverage", "excess_kl")


def tables(record: dict[str, Any]) -> list[Table]:
    """The fits of the reference in each family, targets against what was reached, and rates of collapse.

    Raises ValueError unless it is a record of this experiment.
    """
    results = checked(record, "toy.collapse")["results"]
    reference = results["reference"]
    return [
        *(_fits(reference, family) for family in FAMILIES),
        _targets(reference),
        *(_rates(problem) for problem in results["random"]),
    ]


def _fits(reference: dict[str, Any], family: str) -> Table:
    target = reference["targets"][0]
    effective, rate = target["effective"], target["base_rate"]
    title = f"{family} bigrams; effective number of p_* {effective:.3f}, base rate {rate:.4f}"
    headers = ("objective", "lambda, alpha", *NUMBERS, "starts that agree", "ascent", "annealing")
    table = Table(*headers, title=title, pad_edge=False)
    for line in select(reference["fits"], family=family):
        if line["method"] in ("global", "closed form") or line["objective"] == "reward":
            objective, setting, _ = way({**line, "mu": None})
            reached = [_reached(reference["fits"], line, method) for method in ("ascent", "annealing")]
            table.add_row(escape(objective), setting, *_numbers(line), _agreement(line), *reached)
    return table


def _numbers(line: Row) -> list[str]:
    return [f"{float(line[name]):.4f}" for name in NUMBERS]


def _agreement(line: Row) -> str:
    if "certificate" not in line:
        return "-"
    certificate = line["certificate"]
    where = ", Dirac" if certificate["boundary"] else ""
    return f"{certificate['agree']}/{certificate['starts']}{where}"


def _reached(fits: Sequence[Row], line: Row, method: str) -> str:
    """Whether a method reached the global minimum, else how far above it stopped."""
    if line["objective"] != "reverse_kl":
        return "-"
    (other,) = select(fits, family=line["family"], method=method, **{"lambda": line["lambda"]})
    return "global" if other["is_global"] else f"above by {other['above']:.3g}"


def _targets(reference: dict[str, Any]) -> Table:
    table = Table("target mu", "lambda", *FAMILIES, title="Validity aimed at and reached", pad_edge=False)
    lines = [line for line in select(reference["fits"], method="global") if line.get("mu") is not None]
    for mu in sorted({line["mu"] for line in lines}):
        here = {line["family"]: line for line in select(lines, mu=mu)}
        reached = [f"{here[family]['validity']:.4f}" for family in FAMILIES]
        table.add_row(f"{mu:g}", f"{here[FAMILIES[0]]['lambda']:.4f}", *reached)
    return table


def _rates(problem: dict[str, Any]) -> Table:
    title = f"{problem['name']}: {problem['valid_words']} of {problem['words']} words valid; means over bases"
    means = ("validity", "effective_kept", "coverage", "excess_kl")
    headers = ("family", "objective", "setting", "method", "collapsed", *means, "global", "met twice")
    table = Table(*headers, title=title, pad_edge=False)
    for rate in problem["rates"]:
        counts = [
            f"{rate[name]}/{rate['bases']}" if name in rate else "-" for name in ("is_global", "met_twice")
        ]
        collapsed = f"{rate['collapsed']}/{rate['bases']}"
        table.add_row(
            rate["family"],
            *map(escape, way(rate)),
            collapsed,
            *(f"{rate[name]:.3f}" for name in means),
            *counts,
        )
    return table
