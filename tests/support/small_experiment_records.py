"""Small records of the toy experiments, in a folder that figures read in place of the committed numbers."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import figures
from dph_theory.support.record import record
from figures import records
from support.small_strategies_run import small_record
from support.tiny_styles_base import end as at_the_end
from support.tiny_styles_base import made_up

KS = [1, 16, 256]
METHODS = ("GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS", "DPH-alpha", "reverse")
ANCHORED = METHODS[3:]


def end(first: float, sixteenth: float, histogram: list[float], kept: float = 1.0, new: float = 0.0):
    """The end of a training on forty prompts, of which the base solves thirty."""
    many = {"style_histogram": histogram, "distinct_styles": float(sum(count > 1 for count in histogram))}
    solved = {"base_solved": 30, "base_unsolved": 10, "retention": kept, "exploration": new}
    return at_the_end(first, sixteenth, 1.0) | many | solved


def styles_record() -> dict[str, Any]:
    """Two seeds that favour different styles, every method in the comparison, anchors at two places."""
    found = made_up()
    base = {split: end(0.4, 0.9, [10.0, 8.0, 6.0, 5.0, 3.0]) for split in ("train", "held_out")}
    found["bases"] = [found["bases"][0] | {"seed": seed} | deepcopy(base) for seed in (0, 1)]
    runs = [_run(name, seed, groups=["main"]) for seed in (0, 1) for name in METHODS]
    runs += [
        _run(name, 0, ["places"], place, s)
        for name in ANCHORED
        for place in ("rehearsed", "all")
        for s in (0.03, 0.3)
    ]
    results = found | {"k": KS, "runs": runs}
    return record("toy.styles", seed=0, config={}, results=results, findings=[])


def _run(name, seed, groups, place="rehearsed", strength=0.3) -> dict[str, Any]:
    histogram = [20.0, 9.0, 1.0, 1.0, 1.0] if seed == 0 else [1.0, 1.0, 20.0, 9.0, 1.0]
    sixteenth = (
        0.8
        + 0.02 * METHODS.index(name)
        + (0.01 if place == "all" else 0.0)
        - (0.05 if strength < 0.1 else 0.0)
    )
    here = end(
        0.5 + 0.1 * seed - (0.02 if place == "all" else 0.0), sixteenth, histogram, kept=0.9, new=0.2 * seed
    )
    curve = {"update": [0, 12, 24], "pass_at_8": [0.7, 0.75, 0.8 + 0.1 * seed], "excess": [0.0, 0.1, 0.2]}
    curve |= {"pass_at_16": [0.9, 0.9, sixteenth]}
    return {
        "name": name, "label": name if name in METHODS[:2] else f"{name} {strength:g}", "seed": seed,
        "strength": strength, "place": place, "mu": None, "alpha": None, "updates": 24, "groups": groups,
        "curve": curve, "train": here, "held_out": deepcopy(here),
        "guarantee": 0.9, "rehearsed_pass": 0.95, "guarantee_margin": 0.01,
    }  # fmt: skip


def quick_results(name: str, folder: Path) -> Any:
    """The figure's results, computed from the small records, stored and read again as for a drawing."""
    figure = figures.figure(name)
    records.save("toy_strategies_quick", small_record(), folder)
    records.save("toy_styles_quick", styles_record(), folder)
    records.save(name, figure.numbers(quick=True, folder=folder), folder)
    return figure.read(records.load(name, figure.kind, folder))[1]
