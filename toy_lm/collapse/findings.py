"""What follows from the fits, as sentences made of their numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from .measure import Row


def findings(results: Mapping[str, Any]) -> list[str]:
    """How often each way of fitting collapses, on the reference and on random bases; where it jumps."""
    said = [_counted(results["reference"]["name"], *group) for group in _groups(results["reference"]["fits"])]
    for leap in results["reference"]["leaps"]:
        low, high = leap["between"]
        kind = "continuously" if leap["jump"] is None else "by a first-order jump"
        said.append(f"{leap['family']}: validity leaps between lambda = {low:.4g} and {high:.4g}, {kind}.")
    for problem in results["random"]:
        for line in problem["rates"]:
            name = " ".join(str(line[key]) for key in ("family", "objective", "method") if line[key])
            said.append(
                f"{problem['name']}, {name}: {line['collapsed']} of {line['bases']} collapse; mean validity "
                f"{line['validity']:.3f}, mean coverage {line['coverage']:.3f}."
            )
    return said


def _groups(fits: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    groups: dict[str, list[Row]] = {}
    for line in fits:
        name = " ".join(str(line[key]) for key in ("family", "objective", "method") if line.get(key))
        groups.setdefault(name, []).append(line)
    return list(groups.items())


def _counted(problem: str, name: str, lines: Sequence[Row]) -> str:
    collapsed = sum(line["collapsed"] for line in lines)
    low, high = (pick(line["effective"] for line in lines) for pick in (min, max))
    return (
        f"{problem}, {name}: {collapsed} of {len(lines)} fits collapse onto one word; "
        f"between {low:.2f} and {high:.2f} effective valid words are kept."
    )
