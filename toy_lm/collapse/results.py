"""What the experiment is run with, and what is said of its results: rows as they are stored."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from dph_theory.support.record import checked
from dph_theory.support.table import Table

from ..config import Count, Filled, Positive, Rate, check
from ..grid import Row

ENOUGH = 3
"""An optimum met from fewer starts is searched for again, from fresh ones."""
HIGHEST_RATE = 0.3
"""Random bases that pass more often are drawn again: they have little to learn."""

_Strengths: TypeAlias = Annotated[tuple[Positive, ...], Filled]
_Rates: TypeAlias = Annotated[tuple[Rate, ...], Filled]
# A validity can only be aimed at from below.
_Aims: TypeAlias = Annotated[tuple[Annotated[float, Field(gt=HIGHEST_RATE, lt=1)], ...], Filled]


@dataclass(frozen=True)
class Config:
    """How much is fitted; raises ValueError that names the field, its value and what is allowed.

    strengths: the values of 1/beta of the reverse KL. targets: pass rates mu, whose beta (theory A5) is tried
    too. starts: random starts at each of four scales. rounds: how often an optimum that few starts agree on
    is searched for again, at most. ascent_steps: of gradient ascent, at most. stages: of annealing, from one
    1/beta to the next. cases: random bases of a problem. Fields with `random_` are for those problems.
    """

    strengths: _Strengths = (0.5, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 8.0, 10.0, 20.0)
    alphas: _Rates = (0.9, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.3, 0.1)
    targets: _Rates = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
    starts: Count = 8
    ascent_steps: Count = 400
    stages: Count = 2
    cases: Count = 10
    random_targets: _Aims = (0.9, 0.999)
    random_alphas: _Rates = (0.75, 0.5)
    random_starts: Count = 2
    rounds: Count = 12

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def quick(cls) -> "Config":
        """A run of seconds, with every part of the full one."""
        return cls(
            strengths=(4.0, 4.5, 10.0),
            alphas=(0.5,),
            targets=(0.9,),
            starts=2,
            ascent_steps=64,
            stages=1,
            cases=2,
            random_targets=(0.9,),
            random_alphas=(0.5,),
            random_starts=1,
            rounds=1,
        )


KIND = "toy.collapse"
FAMILIES = ("homogeneous", "inhomogeneous")


def select(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows with these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def extended(rows: Sequence[Row], **columns: Any) -> list[Row]:
    """The rows with further facts: of each column a list's entry, or the one value; None is left out."""
    each = [value if isinstance(value, list) else [value] * len(rows) for value in columns.values()]
    return [
        row | {name: value for name, value in zip(columns, values, strict=True) if value is not None}
        for row, *values in zip(rows, *each, strict=True)
    ]


def optima(reference: Mapping[str, Any], family: str) -> list[Row]:
    """The global minima of the reverse KL, 1/beta rising."""
    found = select(reference["fits"], family=family, objective="reverse_kl", method="global")
    return sorted(found, key=lambda fit: fit["inverse_beta"])


def label(row: Row) -> str:
    """The objective with its setting: 1/beta of a fit, the target mu of a rate."""
    if row["objective"] == "alpha":
        return f"alpha = {row['alpha']:g}"
    if row["objective"] == "reverse_kl":
        named = (("1/beta = {:.4g}", "inverse_beta"), ("mu = {:g}", "mu"))
        return next(words.format(row[name]) for words, name in named if row.get(name) is not None)
    return {"forward_kl": "forward KL", "reward": "E[v]"}[row["objective"]]


def findings(results: Mapping[str, Any]) -> list[str]:
    """What the reverse KL selects, what the forward KL selects, and what gradient ascent finds of it."""
    reference = results["reference"]
    fits = reference["fits"]
    last = [optima(reference, family)[-1] for family in FAMILIES]
    found = select(fits, objective="reverse_kl", method="global")
    missed = select(fits, method="ascent", is_global=False)
    certificates = [fit["certificate"] for fit in fits if "certificate" in fit]
    surest = min(certificates, key=lambda found: found["agree"] / found["starts"])
    return [
        f"The global optimum of the reverse KL at {label(last[0])} keeps {_kept(last)}; the filtered model "
        f"p_* has effective number {reference['target']['effective']:.2f}.",
        f"The forward-KL fit to p_* keeps {_kept(select(fits, objective='forward_kl'))}.",
        f"Gradient ascent from the base ends above {len(missed)} of the {len(found)} global optima of the "
        f"reverse KL; each global optimum was met from at least {surest['agree']} of {surest['starts']} "
        "starts, which is strong evidence and no proof.",
    ]


def _kept(fits: Sequence[Row]) -> str:
    words = "effective number {effective:.2f} at validity {validity:.3f} ({family} bigrams)"
    return " and ".join(words.format(**fit) for fit in fits)


def tables(record: dict[str, Any]) -> list[Table]:
    """The fits of the reference in each family, jumps, targets and what was reached, rates of collapse.

    Raises ValueError unless it is a record of this experiment.
    """
    results = checked(record, KIND)["results"]
    return [
        *(_fits(results["reference"], family) for family in FAMILIES),
        _leaps(results["reference"]),
        _targets(results["reference"]),
        *(_rates(problem, family) for problem in results["random"] for family in FAMILIES),
    ]


def _fits(reference: Mapping[str, Any], family: str) -> Table:
    title = (
        f"{family} bigrams: optima of reverse KL (1/beta), forward KL, alpha-divergences (alpha), and E[v]; "
        "the base has validity {base_rate:.4f}, p_* effective number {effective:.3f}"
    ).format(**reference["target"])
    headers = ("validity", "top", "effective", "coverage", "excess KL", "met from", "gap")
    shown: list[tuple[str, ...]] = []
    for fit in select(reference["fits"], family=family):
        if fit["method"] in ("global", "closed form") or fit["objective"] == "reward":
            cells = (f"{fit[n]:.4f}" for n in ("validity", "top", "effective", "coverage", "excess_kl"))
            reached = [_reached(reference["fits"], fit, method) for method in ("ascent", "annealing")]
            shown.append((label(fit), *cells, *_certified(fit), *reached))
    return Table.of(("optimum of", *headers, "ascent", "annealing"), shown, title)


def _certified(fit: Row) -> tuple[str, str]:
    """From how many of the starts the optimum was met, and how far above it the next minimum lies."""
    found = fit.get("certificate")
    if found is None:
        return "-", "-"
    at = " (Dirac)" if found["boundary"] else ""
    gap = float(found["gap"])  # In a file what is infinite is a word.
    return f"{found['agree']}/{found['starts']}{at}", f"{gap:.3f}" if gap < float("inf") else "-"


def _reached(fits: Sequence[Row], fit: Row, method: str) -> str:
    """Whether a method reached the global minimum, else how far above it it stopped."""
    if fit["objective"] != "reverse_kl":
        return "-"
    (other,) = select(fits, family=fit["family"], method=method, inverse_beta=fit["inverse_beta"])
    return "reached" if other["is_global"] else f"{other['above']:+.3f}"


def _leaps(reference: Mapping[str, Any]) -> Table:
    title = "Between which 1/beta the optimum's validity leaps; at a jump two minima have one value"
    shown: list[tuple[str, ...]] = []
    for leap in reference["leaps"]:
        jump = ("-", "-")
        if "jump" in leap:
            jump = (f"{leap['jump']:.4f}", f"{leap['high_from']:.3f} to {leap['low_until']:.3f}")
        shown.append((leap["family"], f"{leap['below']:.4g} and {leap['above']:.4g}", *jump))
    return Table.of(("family", "leaps between", "jumps at", "both minima exist"), shown, title)


def _targets(reference: Mapping[str, Any]) -> Table:
    title = "Validity aimed at by beta(mu), exact for unrestricted policies, and of the optimum"
    shown: list[tuple[str, ...]] = []
    aimed = [fit for fit in select(reference["fits"], method="global") if "mu" in fit]
    for mu in sorted({fit["mu"] for fit in aimed}):
        here = {fit["family"]: fit for fit in select(aimed, mu=mu)}
        reached = [f"{here[family]['validity']:.4f}" for family in FAMILIES]
        shown.append((f"{mu:g}", f"{here[FAMILIES[0]]['inverse_beta']:.4f}", *reached))
    return Table.of(("target mu", "1/beta", *FAMILIES), shown, title)


def _rates(problem: Mapping[str, Any], family: str) -> Table:
    words = f"{problem['valid_words']} of {problem['words']} words valid"
    title = f"{problem['name']}, {family} bigrams; {words}; means over bases"
    means = ("validity", "effective kept", "coverage", "excess KL")
    headers = ("optimum of", "method", "collapsed", *means, "optimum reached", f"met from {ENOUGH}")
    shown: list[tuple[str, ...]] = []
    for rate in select(problem["rates"], family=family):
        numbers = (f"{rate[name]:.3f}" for name in ("validity", "effective_kept", "coverage", "excess_kl"))
        counts = (f"{rate[n]}/{rate['bases']}" if n in rate else "-" for n in ("is_global", "confirmed"))
        shown.append((label(rate), rate["method"], f"{rate['collapsed']}/{rate['bases']}", *numbers, *counts))
    return Table.of(headers, shown, title)
