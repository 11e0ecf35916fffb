"""`dph figures --confront`: a figure each of what `dph confront` found, and a page of all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.axes import Axes

from dph_theory.checkpoints import Confrontation, Together, sentences, tables
from dph_theory.checkpoints.cli import KIND
from dph_theory.checkpoints.pass_at_k import told_ks
from dph_theory.intervals import Estimate
from dph_theory.support.errors import choice
from dph_theory.support.files import write_json, write_text
from dph_theory.support.record import from_json, read_record
from dph_theory.support.table import latex

from .files import formats, rendered, write_drawing
from .style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, Sheet, curve, dot, level, look, rows

_COLORS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)
_LINES, _MARKERS = ("-", "--", "-.", ":"), "os^Dv<"


@dataclass(frozen=True)
class Confronted:
    """The runs held against one base, and all of them together where there are several."""

    runs: Sequence[Confrontation]
    together: Together | None = None

    @property
    def looks(self) -> dict[str, dict[str, Any]]:
        """Each run with its look: that of the method whose name it is first to bear, else what is left."""
        known = {found.run.name: look(found.run.name) for found in self.runs}
        own = {how["color"]: name for name, how in reversed(known.items()) if "linestyle" in how}
        free = [i for i, color in enumerate(_COLORS) if color not in own] or [*range(len(_COLORS))]
        turns = (
            {"color": _COLORS[i], "linestyle": _LINES[i % 4], "marker": _MARKERS[i]} for i in cycle(free)
        )
        return {name: how if own.get(how["color"]) == name else next(turns) for name, how in known.items()}

    @property
    def steps(self) -> bool:
        """Whether they are steps of a training."""
        return self.together is not None and self.together.runs[0].step is not None


def _along_k(axes: Axes, ks: Sequence[int]) -> None:
    if ks[-1] > 1:
        axes.set_xscale("log", base=2)
    told = told_ks(ks[-1])
    axes.set_xticks(told[:: len(told) // 8 + 1], [str(k) for k in told[:: len(told) // 8 + 1]])
    axes.minorticks_off()
    axes.set_xlabel(r"answers $k$")


def pass_at_k(sheet: Sheet, given: Confronted) -> None:
    """Pass@k of the base and the runs; their differences with bands."""
    left, right = sheet.panels(2, height=2.5)
    first = given.runs[0]
    left.plot(first.curves.k, first.curves.base, label=first.base.name, **look("base", marker=_mark(first)))
    level(right, 0, **look("base", marker=""))
    for found in given.runs:
        how = given.looks[found.run.name] | {"label": found.run.name, "marker": _mark(found)}
        drawn = found.curves
        left.plot(drawn.k, drawn.run, **how)
        curve(right, drawn.k, drawn.difference, drawn.low, drawn.high, **how)
    if given.together is not None and given.together.mean is not None:
        mean = given.together.mean
        bounds = ([getattr(each, side) for each in mean] for side in ("value", "low", "high"))
        how = {"color": "black", "linestyle": "", "marker": "D", "label": "mean of the seeds"}
        curve(right, np.array(given.together.k), *map(np.array, bounds), beside=0.0, **how)
    left.set(ylabel=r"Pass@$k$", title=f"{first.prompts} prompts")
    right.set(ylabel=r"Pass@$k$ less the base's", title="95% bands over all $k$")
    for axes in (left, right):
        _along_k(axes, first.curves.k)
    sheet.legend([left, right], 4)


def _mark(found: Confrontation) -> str:
    return "o" if len(found.curves.k) == 1 else ""


def change_parts(sheet: Sheet, given: Confronted) -> None:
    """What the change of Pass@k is made of: prompts lost and gained, prompts that both solve."""
    panels = np.atleast_1d(sheet.panels(len(given.runs), height=2.3, beside=min(3, len(given.runs))))
    looks: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("solved_set", "newly solved less lost", {"color": VERMILLION, "marker": "s", "linestyle": "--"}),
        ("narrowing", "solved by both", {"color": GREEN, "marker": "^", "linestyle": "-"}),
    )
    for axes, found in zip(panels, given.runs, strict=True):
        level(axes, 0)
        for name, words, how in looks:
            parts = [getattr(part, name) for part in found.parts]
            bounds = ([getattr(part, side) for part in parts] for side in ("value", "low", "high"))
            curve(axes, [part.k for part in found.parts], *bounds, label=words, **how)
        axes.set(ylabel="part of the change", title=found.run.name)
        _along_k(axes, [part.k for part in found.parts])
    sheet.legend(panels, 2)


def keep_and_explore(sheet: Sheet, given: Confronted) -> None:
    """The share of solved prompts that the runs keep, and of the others that they newly solve."""
    names = [found.run.name for found in given.runs]
    left, right = sheet.panels(2, height=0.9 + 0.25 * len(names), sharey=True)
    shown: tuple[tuple[Axes, str, str], ...] = (
        (left, "kept", "kept, of prompts that the base solves"),
        (right, "new", "newly solved, of the others"),
    )
    for axes, name, words in shown:
        for at, found in enumerate(given.runs):
            share: Estimate | None = getattr(found.kept, name)
            unchanged: float | None = getattr(found.kept, f"{name}_unchanged")
            if share is not None:
                dot(axes, (share.value, share.low, share.high), at, given.looks[names[at]])
            if unchanged is not None:
                axes.plot(unchanged, at, "|", color="black", markersize=9)
        rows(axes, names)
        axes.set(xlabel=words)


def laws(sheet: Sheet, given: Confronted) -> None:
    """How well each stationary policy predicts answers held out, the best on their mean first."""
    scores: dict[str, list[float]] = {}
    told = [found for found in given.runs if found.laws]
    for found in told:
        for line in found.laws:
            scores.setdefault(line.law, []).append(line.held_out.value)
    names = sorted(scores, key=lambda law: -float(np.mean(scores[law])))
    axes = sheet.panels(height=0.9 + 0.22 * len(names))
    for i, found in enumerate(told):
        offset, how = 0.5 * ((i + 0.5) / len(told) - 0.5), given.looks[found.run.name]
        axes.plot([], [], how["marker"], color=how["color"], label=found.run.name)
        for line in found.laws:
            held = line.held_out
            dot(axes, (held.value, held.low, held.high), names.index(line.law) + offset, how)
    rows(axes, [_short(name) for name in names])
    rejected = sum(found.best is not None and found.best.rejected for found in told)
    title = f"best law rejected: {rejected} of {len(told)}"
    axes.set(xlabel="nats below the best", title=title)
    sheet.legend([axes], 4)


def along_steps(sheet: Sheet, given: Confronted) -> None:
    """The change of Pass@k along the steps of each training, at the least and the most k."""
    several = given.together
    if several is None:
        return
    ends = sorted({0, len(several.k) - 1})
    panels = np.atleast_1d(sheet.panels(len(ends), height=2.3))
    names = list(dict.fromkeys(run.run for run in several.runs))
    turns = cycle(zip(_COLORS, cycle(_LINES), strict=False))
    hows: dict[str, dict[str, Any]] = {
        name: {"color": color, "linestyle": line} for name, (color, line) in zip(names, turns, strict=False)
    }
    for axes, i in zip(panels, ends, strict=True):
        level(axes, 0)
        for name, how in hows.items():
            of = [run for run in several.runs if run.run == name]
            bounds = ([getattr(run.change[i], side) for run in of] for side in ("value", "low", "high"))
            marker = "o" if len(of) == 1 else ""
            curve(axes, [run.step for run in of], *bounds, label=name, marker=marker, **how)
        axes.set(xlabel="step", ylabel=f"Pass@{several.k[i]} less the base's")
    sheet.legend(panels, 4)


def _short(law: str) -> str:
    for long, short in (
        (", advantages", ","),
        ("groups of ", "G = "),
        ("Jensen-Shannon", "JS"),
        ("a shift of its", ""),
    ):
        law = law.replace(long, short)
    return law.strip()


Draw = Callable[[Sheet, Confronted], None]
CAPTIONS: Mapping[str, tuple[Draw, str]] = {
    "pass_at_k": (
        pass_at_k,
        "Left: the chance that at least one of k answers is correct, mean over prompts, unbiased. Right: its "
        "difference to the base's, with bands that hold at all k at once; the mean of seeds at each alone.",
    ),
    "change_parts": (
        change_parts,
        "The change of Pass@k is the sum of two parts: prompts that only one of the two solves at all, and "
        "prompts that both solve, more often or more rarely; intervals at each k alone.",
    ),
    "keep_and_explore": (
        keep_and_explore,
        "Left: of the prompts that the base solves at least once, the share that a run still does. Right: of "
        "the others, the share that it newly solves. Strokes: what a model with the base's rates reaches.",
    ),
    "laws": (
        laws,
        "The mean log probability of a prompt's held-out answers under each law of training, less that under "
        "the best; 0 is the best.",
    ),
    "along_steps": (
        along_steps,
        "The change of Pass@k against the base along training, with 95% bands over all runs, steps and k.",
    ),
}
"""Each figure with what it shows. All intervals have 95% confidence, prompts being the units."""


def holds(name: str, given: Confronted) -> bool:
    """Whether the runs hold anything of a figure."""
    return {"laws": any(found.laws for found in given.runs), "along_steps": given.steps}.get(name, True)


def read(path: Path) -> tuple[dict[str, Any], Confronted]:
    """The record that `dph confront --json` wrote, and what it holds; ValueError says what is wrong."""
    stored = read_record(path, KIND, "dph confront --json")
    return stored, from_json(Confronted, stored["results"])


def write_folder(
    folder: Path, path: Path, names: Sequence[str], form: str, sheet: Callable[[], Sheet]
) -> list[Path]:
    """Write the record, the named figures (or all) with captions, and a page of it all; gives the paths.

    ValueError for a record, a name or a format that there is not.
    """
    kinds = formats(form)
    for name in names:
        choice("figure", name, CAPTIONS)
    stored, given = read(path)
    hashes = {side.name: side.sha256 for one in given.runs for side in (one.base, one.run)}
    about = ", ".join(f"{file} sha256:{digest}" for file, digest in hashes.items())
    folder.mkdir(parents=True, exist_ok=True)
    paths, svg = [folder / f"{KIND}.json", folder / "index.html"], {}
    write_json(paths[0], stored)
    for name in names or CAPTIONS:
        if holds(name, given):
            paper, (draw, caption) = sheet(), CAPTIONS[name]
            with paper.look():
                draw(paper, given)
                drawing = paper.finished()
            paths += write_drawing(folder, name, drawing, latex(caption), kinds, paper, about)
            svg[name] = rendered(drawing, "svg", paper, about)
    write_text(paths[1], page(given, svg))
    return paths


def page(given: Confronted, svg: Mapping[str, bytes]) -> str:
    """The whole document: sentences, notes and tables of each run, and the figures."""
    words = Environment(
        loader=PackageLoader("figures", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    runs = [
        (found, sentences(found), found.notes, [Markup(table.html()) for table in tables(found)])
        for found in given.runs
    ]
    several = given.together
    return words.get_template("confront.html").render(
        runs=runs,
        together=None if several is None else several.summary(),
        all_together=[] if several is None else [Markup(table.html()) for table in several.tables()],
        figures=[(name, CAPTIONS[name][1], Markup(_inline(each))) for name, each in svg.items()],
        record=f"{KIND}.json",
    )


def _inline(svg: bytes) -> str:
    """An SVG without the head of a file."""
    return svg[svg.index(b"<svg") :].decode()
