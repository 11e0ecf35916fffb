"""What follows from the numbers, in sentences that the numbers decide."""

from collections.abc import Sequence
from typing import Any

from .measure import Row

FAMILIES = ("homogeneous", "inhomogeneous")


def findings(results: dict[str, Any]) -> list[str]:
    """The findings of the experiment from its results, each computed from them."""
    reference = results["reference"]
    found: list[str] = []
    for family in FAMILIES:
        found += [_limit(reference, family), *_leaps(reference, family)]
    found += [_certified(reference), _same_for_all(reference), _covering(reference)]
    found += [_dial(reference, family) for family in FAMILIES]
    found += [_meter(reference), _reward(reference), _aimed(reference)]
    return found + [_random(problem, family) for problem in results["random"] for family in FAMILIES]


def select(lines: Sequence[Row], **wanted: object) -> list[Row]:
    """The lines with these values; None where a line has no such key."""
    return [line for line in lines if all(line.get(key) == value for key, value in wanted.items())]


def _limit(reference: dict[str, Any], family: str) -> str:
    lines = select(reference["fits"], family=family, objective="reverse_kl", method="global")
    last, whole = lines[-1], reference["targets"][0]["effective"]
    end = f"collapses onto {last['top_word']}" if last["collapsed"] else "does not collapse"
    return (
        f"Reverse KL, {family} bigrams: at lambda = {last['lambda']:g} the global minimum {end}: validity "
        f"{last['validity']:.4f}, share of its top word {last['top_share']:.4f}, effective number "
        f"{last['effective']:.2f} of {whole:.2f}, coverage {last['coverage']:.3f}."
    )


def _leaps(reference: dict[str, Any], family: str) -> list[str]:
    said = []
    for leap in select(reference["leaps"], family=family):
        jump, (low, high) = leap["jump"], leap["between"]
        if jump is None:
            how = f"rises steeply between lambda = {low:.3g} and {high:.3g}, but on one branch: nothing jumps"
        else:
            how = (
                f"jumps at lambda = {jump['strength']:.4f}, a first-order transition: both minima exist "
                f"from lambda = {jump['high_from']:.3f} to {jump['low_until']:.3f}"
            )
        said.append(f"There ({family}) the validity of the global minimum {how}.")
    return said


def _certified(reference: dict[str, Any]) -> str:
    certificates = [line["certificate"] for line in reference["fits"] if "certificate" in line]
    weakest = min(certificates, key=lambda found: found["agree"] / found["starts"])
    return (
        f"Each of the {len(certificates)} global minima was met from at least {weakest['agree']} of "
        f"{weakest['starts']} starts, and nothing lower from any: strong evidence, but no proof."
    )


def _same_for_all(reference: dict[str, Any]) -> str:
    fits = select(reference["fits"], objective="reverse_kl")
    said = []
    for method in ("ascent", "annealing"):
        lines = select(fits, method=method)
        missed = [f"{line['lambda']:.3g} ({line['family']})" for line in lines if not line["is_global"]]
        what = f"misses the minimum at lambda = {', '.join(missed)}" if missed else "misses no minimum"
        said.append(f"{method} from the base {what}")
    best = select(fits, method="global")
    collapsed = sum(line["collapsed"] for line in best)
    whose = "a property of the objective in the family, not of the optimiser" if collapsed else "not seen"
    reached = "; ".join(said).capitalize()
    return f"{reached}. {collapsed} of {len(best)} minima are collapsed: collapse is {whose}."


def _covering(reference: dict[str, Any]) -> str:
    said = []
    for family in FAMILIES:
        (forward,) = select(reference["fits"], family=family, objective="forward_kl")
        last = select(reference["fits"], family=family, objective="reverse_kl", method="global")[-1]
        coverage, validity = ((forward[name], last[name]) for name in ("coverage", "validity"))
        if coverage[0] > coverage[1]:
            what = (
                "buys coverage with validity" if validity[0] < validity[1] else "gains coverage for nothing"
            )
        else:
            what = "gains no coverage"
        said.append(
            f"{family} it {what} (coverage {coverage[0]:.3f} against {coverage[1]:.3f}, validity "
            f"{validity[0]:.3f} against {validity[1]:.3f})"
        )
    return f"Forward KL to p_* against reverse KL at the largest lambda: {'; '.join(said)}."


def _dial(reference: dict[str, Any], family: str) -> str:
    lines = select(reference["fits"], family=family, objective="alpha")
    lines.sort(key=lambda line: -line["alpha"])
    at_dirac = [line["certificate"]["boundary"] for line in lines]
    values = [
        f"{line['alpha']:g} {'the Dirac' if dirac else format(line['top_share'], '.3f')}"
        for line, dirac in zip(lines, at_dirac, strict=True)
    ]
    if any(at_dirac) and not all(at_dirac):
        dial = "no smooth dial: its infimum leaps to the Dirac"
    else:
        dial = "all of them the Dirac" if all(at_dirac) else "never the Dirac"
    return f"alpha-divergence to p_*, {family}, share of the top word: {', '.join(values)}; {dial}."


def _meter(reference: dict[str, Any]) -> str:
    fits = select(reference["fits"], family="homogeneous")
    (forward,) = select(fits, objective="forward_kl")
    last = select(fits, objective="reverse_kl", method="global")[-1]
    parts = [
        f"{name} {line['excess_kl']:.3f} ({line['excess_valid']:.3f} among valid words, "
        f"{line['excess_invalid']:.3f} among invalid ones)"
        for name, line in (("forward KL", forward), (f"reverse KL at lambda = {last['lambda']:g}", last))
    ]
    more = "the two parts must be told apart" if forward["excess_kl"] > last["excess_kl"] else "as it should"
    return f"Excess KL, homogeneous: {', '.join(parts)}: {more}."


def _reward(reference: dict[str, Any]) -> str:
    said = []
    for family in FAMILIES:
        (line,) = select(reference["fits"], family=family, objective="reward")
        path = select(reference["paths"], family=family, objective="reward")
        peak = max(point["excess_kl"] for point in path)
        end = "collapses" if line["collapsed"] else "does not collapse"
        said.append(
            f"{family} it {end} (validity {line['validity']:.4f}, top share {line['top_share']:.4f}, excess "
            f"KL {line['excess_kl']:.3f} after at most {peak:.3f})"
        )
    return f"Plain ascent of E[v]: {'; '.join(said)}."


def _aimed(reference: dict[str, Any]) -> str:
    lines = [line for line in select(reference["fits"], method="global") if line.get("mu") is not None]
    said = []
    for family in FAMILIES:
        reached = [f"{line['mu']:g} -> {line['validity']:.3f}" for line in select(lines, family=family)]
        said.append(f"{family} {', '.join(reached)}")
    return f"Target validity by beta(mu), exact for unrestricted policies, here: {'; '.join(said)}."


def _random(problem: dict[str, Any], family: str) -> str:
    said = []
    for rate in select(problem["rates"], family=family):
        what = " ".join(part for part in way(rate) if part)
        said.append(f"{what} {rate['collapsed']}/{rate['bases']} ({rate['effective_kept']:.2f})")
    what = f"Collapsed bases (and the share of the effective number kept), {problem['name']}, {family}"
    return f"{what}: {', '.join(said)}."


def way(line: Row) -> tuple[str, str, str]:
    """Objective, setting and method of a line, in words."""
    names = {"reverse_kl": "reverse KL", "forward_kl": "forward KL", "alpha": "alpha", "reward": "E[v]"}
    settings = [
        (line.get("alpha"), "{:g}"),
        (line.get("mu"), "for mu = {:g}"),
        (line.get("lambda"), "{:.3g}"),
    ]
    setting = next((form.format(value) for value, form in settings if value is not None), "")
    return names[line["objective"]], setting, line["method"]
