"""Configuration of the collapse experiment, and the sentences and tables of its stored rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from dph_theory.support.record import checked
from dph_theory.support.table import Table

from ..config import Count, Filled, Rates, Strengths, check
from ..grid import Row

ENOUGH = 3  # An optimum reached from fewer starts is searched for again.
HIGHEST_RATE = 0.3  # Random bases that pass more often are redrawn: they have little to learn.

# A target pass rate must exceed the base's.
_Aims: TypeAlias = Annotated[tuple[Annotated[float, Field(gt=HIGHEST_RATE, lt=1)], ...], Filled]


@dataclass(frozen=True)
class CollapseConfig:
    """Sizes of the experiment; raises ValueError that names the field, its value and what is allowed.

    strengths: values of 1/beta of the reverse KL. targets: pass rates mu, whose beta is added. starts: random
    starts at each of four scales. rounds: maximal repetitions of the search for an optimum that few starts
    reach. ascent_steps: maximal steps of gradient ascent. stages: of annealing, from one 1/beta to the next.
    cases: random bases of a problem. Fields with `random_` are for those problems. Source: entries
    `kl_control` for the beta of a target.
    """

    strengths: Strengths = (0.5, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 8.0, 10.0, 20.0)
    alphas: Rates = (0.9, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.3, 0.1)
    targets: Rates = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
    starts: Count = 8
    ascent_steps: Count = 400
    stages: Count = 2
    cases: Count = 10
    random_targets: _Aims = (0.9, 0.999)
    random_alphas: Rates = (0.75, 0.5)
    random_starts: Count = 2
    rounds: Count = 12

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def quick(cls) -> "CollapseConfig":
        """Configuration with every part of the full run that takes seconds."""
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


def select(rows: Iterable[Row], **values: object) -> list[Row]:
    """Rows whose columns have all of these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in values.items())]


def extended(rows: Sequence[Row], **columns: Any) -> list[Row]:
    """Rows with further columns: each a list with an entry per row, or one value; None is left out."""
    cells = [value if isinstance(value, list) else [value] * len(rows) for value in columns.values()]
    return [
        row | {name: value for name, value in zip(columns, values, strict=True) if value is not None}
        for row, *values in zip(rows, *cells, strict=True)
    ]


def optima(reference: Mapping[str, Any], family: str) -> list[Row]:
    """Fits at global minima of the reverse KL in a family, sorted by increasing 1/beta."""
    fits = select(reference["fits"], family=family, objective="reverse_kl", method="global")
    return sorted(fits, key=lambda fit: fit["inverse_beta"])


def label(row: Row) -> str:
    """Name of a row's objective with its setting, such as: alpha = 0.5; 1/beta = 4; mu = 0.9."""
    if row["objective"] == "alpha":
        return f"alpha = {row['alpha']:g}"
    if row["objective"] == "reverse_kl":
        named = (("1/beta = {:.4g}", "inverse_beta"), ("mu = {:g}", "mu"))
        return next(words.format(row[name]) for words, name in named if row.get(name) is not None)
    return {"forward_kl": "forward KL", "reward": "E[v]"}[row["objective"]]


def findings(results: Mapping[str, Any]) -> list[str]:
    """Sentences about the optima of the reverse and the forward KL, gradient ascent, and random bases."""
    reference = results["reference"]
    fits = reference["fits"]
    last = [optima(reference, family)[-1] for family in FAMILIES]
    minima = select(fits, objective="reverse_kl", method="global")
    missed = select(fits, method="ascent", is_global=False)
    certificates = [fit["certificate"] for fit in fits if "certificate" in fit]
    surest = min(certificates, key=lambda met: met["agree"] / met["starts"])
    return [
        _likeliest_sequence(reference),
        f"The global optimum of the reverse KL at {label(last[0])} has {_words_left(last)}; the filtered "
        f"model p_* has exp(entropy) {reference['target']['effective']:.2f}.",
        f"The forward-KL fit to p_* has {_words_left(select(fits, objective='forward_kl'))}.",
        f"Gradient ascent from the base misses {len(missed)} of the {len(minima)} global optima of the "
        f"reverse KL; each global optimum was reached from at least {surest['agree']} of {surest['starts']} "
        "starts, which is strong evidence and no proof.",
        *(_over_bases(problem) for problem in results["random"]),
    ]


def _likeliest_sequence(reference: Mapping[str, Any]) -> str:
    """Sentence on the mass of the likeliest correct sequence as 1/beta grows, beside p_*'s entropy."""
    along = {family: select(optima(reference, family), mu=None) for family in FAMILIES}
    strengths = ", ".join(f"{fit['inverse_beta']:.3g}" for fit in along[FAMILIES[0]])
    masses = {family: ", ".join(f"{fit['top']:.3f}" for fit in fits) for family, fits in along.items()}
    target = reference["target"]
    return (
        f"Mass of the likeliest correct sequence at 1/beta = {strengths}: "
        f"{'; '.join(f'{family} bigrams {row}' for family, row in masses.items())}. "
        f"p_* gives it {target['top_share']:.3f} and has entropy {target['entropy']:.2f} nats."
    )


def _over_bases(problem: Mapping[str, Any]) -> str:
    """Sentence: the number of random bases whose optimum is (nearly) one answer, by objective and family."""
    rates = [rate for rate in problem["rates"] if rate["method"] != "annealing"]
    optima = [rate for rate in rates if rate["method"] != "ascent" or rate["objective"] == "reward"]
    collapsed: dict[str, list[str]] = {}
    for rate in optima:
        collapsed.setdefault(label(rate), []).append(str(rate["collapsed"]))
    counts = "; ".join(f"{words}: {' and '.join(numbers)}" for words, numbers in collapsed.items())
    answers = f"{problem['valid_words']} of {problem['words']} words correct"
    return (
        f"{problem['name']} ({answers}), optima that collapse onto one answer, of {optima[0]['bases']} "
        f"bases, {' and '.join(FAMILIES)}: {counts}."
    )


def _words_left(fits: Sequence[Row]) -> str:
    words = "exp(entropy) {effective:.2f} at pass rate {pass_rate:.3f} ({family} bigrams)"
    return " and ".join(words.format(**fit) for fit in fits)


def tables(record: dict[str, Any]) -> list[Table]:
    """Tables of the reference's fits in each family; ValueError for another experiment's record."""
    reference = checked(record, KIND)["results"]["reference"]
    return [_fits(reference, family) for family in FAMILIES]


def _fits(reference: Mapping[str, Any], family: str) -> Table:
    title = (
        f"{family} bigrams: optima of reverse KL (1/beta), forward KL, alpha-divergences (alpha), and E[v]; "
        "the base has pass rate {base_rate:.4f}, p_* exp(entropy) {effective:.3f}"
    ).format(**reference["target"])
    headers = ("pass rate", "top", "effective", "coverage", "excess KL", "met from", "gap")
    shown: list[tuple[str, ...]] = []
    for fit in select(reference["fits"], family=family):
        if fit["method"] in ("global", "closed form") or fit["objective"] == "reward":
            cells = (f"{fit[n]:.4f}" for n in ("pass_rate", "top", "effective", "coverage", "excess_kl"))
            reached = [_reached(reference["fits"], fit, method) for method in ("ascent", "annealing")]
            shown.append((label(fit), *cells, *_certified(fit), *reached))
    return Table.from_rows(("optimum of", *headers, "ascent", "annealing"), shown, title)


def _certified(fit: Row) -> tuple[str, str]:
    """Text: the share of starts that reached the optimum, and the distance to the next minimum."""
    certificate = fit.get("certificate")
    if certificate is None:
        return "-", "-"
    at = " (Dirac)" if certificate["boundary"] else ""
    gap = float(certificate["gap"])  # A file stores infinity as a word.
    return f"{certificate['agree']}/{certificate['starts']}{at}", f"{gap:.3f}" if gap < float("inf") else "-"


def _reached(fits: Sequence[Row], fit: Row, method: str) -> str:
    """Table cell: "reached" if the method found the global minimum, else its distance above it."""
    if fit["objective"] != "reverse_kl":
        return "-"
    (other,) = select(fits, family=fit["family"], method=method, inverse_beta=fit["inverse_beta"])
    return "reached" if other["is_global"] else f"{other['above']:+.3f}"
