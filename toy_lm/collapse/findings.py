"""What follows from the numbers, in sentences that the numbers decide."""

from collections.abc import Iterator, Sequence
from typing import Any

from .measure import Row
from .optimum import ENOUGH

FAMILIES = ("homogeneous", "inhomogeneous")
FEW = 0.25
"""A policy that keeps less than this share of p_*'s effective number has little left, on one word or not."""


def findings(results: dict[str, Any]) -> list[str]:
    """The findings of the experiment from its results, each computed from them."""
    reference = results["reference"]
    return [
        *(_optimum(reference, family) for family in FAMILIES),
        *_leaps(reference),
        _family(reference),
        _optimisers(reference),
        _certificate(reference),
        *(_covering(reference, family) for family in FAMILIES),
        *(_dial(reference, family) for family in FAMILIES),
        _meter(reference),
        _reward(reference),
        *(_aimed(reference, family) for family in FAMILIES),
        *(_random(problem, family) for problem in results["random"] for family in FAMILIES),
    ]


def select(lines: Sequence[Row], **wanted: object) -> list[Row]:
    """The lines with these values; None where a line has no such key."""
    return [line for line in lines if all(line.get(key) == value for key, value in wanted.items())]


def label(line: Row) -> str:
    """The objective of a line by its setting: of the reverse KL lambda, or mu if that was chosen instead."""
    if line["objective"] == "alpha":
        return f"alpha = {line['alpha']:g}"
    if line["objective"] != "reverse_kl":
        return {"forward_kl": "forward KL", "reward": "E[v]"}[line["objective"]]
    if "lambda" in line:
        return f"lambda = {line['lambda']:.4g}"
    return f"mu = {line['mu']:g}"


def _optima(reference: dict[str, Any], family: str) -> list[Row]:
    """The global minima of the reverse KL, lambda rising."""
    lines = select(reference["fits"], family=family, objective="reverse_kl", method="global")
    return sorted(lines, key=lambda line: line["lambda"])


def _optimum(reference: dict[str, Any], family: str) -> str:
    lines, whole = _optima(reference, family), reference["targets"][0]["effective"]
    alive, last = [line for line in lines if not line["collapsed"]], lines[-1]
    said = f"Reverse KL, {family} bigrams: the global optimum"
    if alive:
        rates = " to ".join(f"{line['validity']:.3f}" for line in (alive[0], alive[-1]))
        said += f" has validity {rates} and effective number {alive[-1]['effective']:.2f} of {whole:.2f}"
        said += f" up to lambda = {alive[-1]['lambda']:.4g}"
    if not last["collapsed"]:
        return f"{said}; it does not collapse."
    first = lines[len(alive)]
    mass = ", ".join(f"{line['top']:.4f} at {line['lambda']:.4g}" for line in (first, last))
    return f"{said}{' and ' if alive else ' '}collapses onto {last['top_word']} beyond, with mass {mass}."


def _leaps(reference: dict[str, Any]) -> Iterator[str]:
    for leap in reference["leaps"]:
        jump, (low, high) = leap["jump"], leap["between"]
        if jump is None:
            how = f"climbs between lambda = {low:.4g} and {high:.4g} along one branch: steep, but no jump"
        else:
            how = (
                f"jumps at lambda = {jump['strength']:.4f}, a first-order transition: two minima have one "
                f"value there, and both exist from {jump['high_from']:.3f} to {jump['low_until']:.3f}, where "
                "what an optimiser finds depends on where it comes from"
            )
        yield f"In the {leap['family']} family the optimum {how}."


def _family(reference: dict[str, Any]) -> str:
    lasts, whole = [_optima(reference, family)[-1] for family in FAMILIES], reference["targets"][0]
    collapsed = [line["collapsed"] for line in lasts]
    if collapsed[0] != collapsed[1]:
        verdict = "The family decides"
    else:
        verdict = f"The family does not decide: {'both' if all(collapsed) else 'neither'} collapsed"
    kept = ", ".join(
        f"{line['effective']:.2f} ({line['family']}, validity {line['validity']:.4f})" for line in lasts
    )
    return (
        f"{verdict}: at lambda = {lasts[0]['lambda']:g} the optimum's effective number is {kept}, of "
        f"{whole['effective']:.2f}."
    )


def _optimisers(reference: dict[str, Any]) -> str:
    fits = select(reference["fits"], objective="reverse_kl")
    optima = select(fits, method="global")
    collapsed = {(line["family"], line["lambda"]) for line in optima if line["collapsed"]}
    said = []
    for method in ("ascent", "annealing"):
        lines = select(fits, method=method)
        missed = [line for line in lines if not line["is_global"]]
        also = sum(line["collapsed"] for line in lines if (line["family"], line["lambda"]) in collapsed)
        where = ", ".join(
            f"{line['above']:.3f} above it at lambda = {line['lambda']:.4g} ({line['family']}, effective "
            f"number {line['effective']:.2f})"
            for line in missed
        )
        end = f"stops {where}" if missed else "reaches every optimum"
        said.append(f"{method} from the base collapses at {also} of these and {end}")
    return (
        f"{len(collapsed)} of the {len(optima)} global optima of the reverse KL are collapsed; "
        f"{'; '.join(said)}."
    )


def _certificate(reference: dict[str, Any]) -> str:
    lines = [line for line in reference["fits"] if "certificate" in line]
    found = [line["certificate"] for line in lines]
    weakest = min(lines, key=lambda line: line["certificate"]["agree"] / line["certificate"]["starts"])
    gaps = [gap for c in found if (gap := float(c["gap"])) < float("inf")]
    nearest = f"the nearest other minimum lies {min(gaps):.3f} above" if gaps else "no other minimum was seen"
    always, fewest = sum(c["agree"] == c["starts"] for c in found), weakest["certificate"]
    return (
        f"Certificate: of {len(lines)} global optima {always} were met from every start, each from at least "
        f"{fewest['agree']} of {fewest['starts']} (the fewest for {label(weakest)}, {weakest['family']}); "
        f"{nearest}. Strong evidence, no proof."
    )


def _covering(reference: dict[str, Any], family: str) -> str:
    (forward,) = select(reference["fits"], family=family, objective="forward_kl")
    last = _optima(reference, family)[-1]
    covers, costs = forward["coverage"] > last["coverage"], forward["validity"] < last["validity"]
    price = "buys coverage with validity" if costs else "gains coverage at no cost in validity"
    verdict = price if covers else f"gains no coverage{' and costs validity' if costs else ''}"
    numbers = (
        f"{name} {forward[key]:.3f} against {last[key]:.3f}"
        for name, key in (("coverage", "coverage"), ("effective number", "effective"), ("validity",) * 2)
    )
    return (
        f"Forward KL to p_*, {family}, {verdict} (against reverse KL at lambda = {last['lambda']:g}): "
        f"{', '.join(numbers)}."
    )


def _dial(reference: dict[str, Any], family: str) -> str:
    lines = select(reference["fits"], family=family, objective="alpha")
    lines.sort(key=lambda line: -line["alpha"])
    values = ", ".join(f"{x['validity']:.3f}/{x['effective']:.2f} at {x['alpha']:g}" for x in lines)
    said = f"alpha-divergence to p_*, {family}: validity/effective number {values}. "
    collapsed = [line for line in lines if line["collapsed"]]
    at_dirac = [line for line in lines if line["certificate"]["boundary"]]
    if not collapsed:
        return f"{said}It collapses at none of them."
    first = collapsed[0]
    said += f"It has collapsed from alpha = {first['alpha']:g} down, at validity {first['validity']:.3f}"
    if at_dirac:
        said += f", and from {at_dirac[0]['alpha']:g} down its infimum is the Dirac's"
    others = [line for line in lines if float(line["certificate"]["gap"]) < float("inf")]
    how = "second minima were seen: it may jump" if others else "no second minimum was seen: it slides there"
    dial = "; no smooth dial, but a threshold" if len(collapsed) < len(lines) else ""
    return f"{said}{dial} ({how})."


def _meter(reference: dict[str, Any]) -> str:
    (forward,) = select(reference["fits"], family=FAMILIES[0], objective="forward_kl")
    last = _optima(reference, FAMILIES[0])[-1]
    parts = [
        f"{name} {line['excess_kl']:.3f} ({line['excess_valid']:.3f} among valid words, "
        f"{line['excess_invalid']:.3f} among invalid ones)"
        for name, line in (("forward KL", forward), (f"reverse KL at {label(last)}", last))
    ]
    misled = (forward["excess_kl"] > last["excess_kl"]) != (forward["effective"] < last["effective"])
    end = "only the valid part orders them by diversity" if misled else "the total orders them by diversity"
    return f"Excess KL, {FAMILIES[0]}: {'; '.join(parts)}: {end}."


def _reward(reference: dict[str, Any]) -> str:
    said = []
    for family in FAMILIES:
        (line,) = select(reference["fits"], family=family, objective="reward")
        end = f"collapses onto {line['top_word']}" if line["collapsed"] else "does not collapse"
        said.append(
            f"{family} it {end} (validity {line['validity']:.4f}, effective number {line['effective']:.2f}, "
            f"excess KL {line['excess_kl']:.3f})"
        )
    return f"Plain ascent of E[v] from the base: {'; '.join(said)}."


def _aimed(reference: dict[str, Any], family: str) -> str:
    lines = [line for line in _optima(reference, family) if line.get("mu") is not None]
    reached = ", ".join(f"{line['mu']:g} -> {line['validity']:.3f}" for line in lines)
    worst = max(lines, key=lambda line: abs(line["validity"] - line["mu"]))
    short = sum(line["validity"] < line["mu"] for line in lines)
    return (
        f"Target validity, {family}: beta(mu), exact for unrestricted policies, gives {reached}; "
        f"{short} of {len(lines)} fall short, and the farthest, mu = {worst['mu']:g}, is off by "
        f"{worst['validity'] - worst['mu']:+.3f}."
    )


def _random(problem: dict[str, Any], family: str) -> str:
    """Counts of collapsed bases; of the reverse KL only at the highest target."""
    rates = select(problem["rates"], family=family)
    if not rates:
        return f"{problem['name'].capitalize()}, {family}: every p_* is a single word, with nothing to lose."
    aimed = max(rate["mu"] for rate in rates if rate["mu"] is not None)
    best = select(rates, mu=aimed)
    others = [rate for rate in rates if rate["mu"] is None]

    def counted(rate: Row, name: str) -> str:
        return f"{name} {rate['collapsed']} ({rate['effective_kept']:.2f})"

    ways = [f"reverse KL for {label(best[0])} {', '.join(counted(rate, rate['method']) for rate in best)}"]
    ways += [counted(rate, f"{label(rate)}:") for rate in others]
    (optimum,) = select(best, method="global")
    said = (
        f"{problem['name'].capitalize()}, {family}: of {optimum['bases']} bases so many collapsed onto one "
        f"word (in brackets the mean share of p_*'s effective number kept): {'; '.join(ways)}. "
        f"{optimum['confirmed']} of the global optima were met from {ENOUGH} starts or more."
    )
    if optimum["effective_kept"] < FEW and not optimum["collapsed"]:
        said += " No optimum of the reverse KL there is a single word, yet few are left."
    return said
