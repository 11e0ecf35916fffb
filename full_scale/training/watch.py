"""The curves of a training while it runs: as text in a terminal, or drawn into a file."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.files import replacing

CURVES = (
    "reward",
    "loss",
    "collapse/excess_kl",
    "collapse/validity",
    "collapse/kl",
    "rehearsal/loss",
    "evaluation/greedy",
    "completions/mean_length",
    "grad_norm",
)
"""What is shown unless names are given, where it was logged."""
_LEVELS = "▁▂▃▄▅▆▇█"


def curves(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ()
) -> dict[str, list[tuple[int, float]]]:
    """(step, value) of each quantity measured; ValueError for a name that was not logged."""
    found = {}
    for name in names or CURVES:
        points = [(row["step"], row[name]) for row in rows if isinstance(row.get(name), int | float)]
        if points:
            found[name] = points
        elif names:
            raise argument_error("curve", name, f"one of {sorted({key for row in rows for key in row})}")
    return found


def sparkline(values: Sequence[float], width: int) -> str:
    """The values as blocks, from their least to their largest; those that share one as their mean."""
    count = min(width, len(values))
    cuts = [len(values) * i // count for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    low, high = min(means), max(means)
    scale = (len(_LEVELS) - 1) / (high - low) if high > low else 0.0
    return "".join(_LEVELS[round((mean - low) * scale)] for mean in means)


def table_rows(found: Mapping[str, Sequence[tuple[int, float]]], width: int) -> list[list[str]]:
    """A row for each curve: name, first, last, least, largest value, and the curve `width` blocks wide."""
    rows = []
    for name, points in found.items():
        values = [value for _, value in points]
        numbers = (values[0], values[-1], min(values), max(values))
        rows.append([name, *(f"{number:.4g}" for number in numbers), sparkline(values, width)])
    return rows


HEADERS = ("", "first", "last", "least", "largest", "curve")


def draw(found: Mapping[str, Sequence[tuple[int, float]]], path: Path) -> None:
    """The curves, one below the other over the steps, as a PNG, SVG or PDF by the path's ending."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    allowed = (".png", ".svg", ".pdf")
    if path.suffix not in allowed:
        raise argument_error("out", str(path), f"a file that ends in one of {', '.join(allowed)}")
    with mpl.rc_context({"font.size": 8}):
        figure = Figure(figsize=(6, 1.4 * len(found)), layout="constrained")
        for axes, (name, points) in zip(
            figure.subplots(len(found), sharex=True, squeeze=False)[:, 0], found.items(), strict=True
        ):
            axes.plot([step for step, _ in points], [value for _, value in points], linewidth=1)
            axes.set_ylabel(name.replace("/", "\n"))
        axes.set_xlabel("step")
        with replacing(path) as part:
            figure.savefig(part, format=path.suffix[1:])
