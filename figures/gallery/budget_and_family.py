"""Two ways to miss the tilted model as beta falls: too small a family, too short a training (A10, E6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from scipy.special import rel_entr

from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import Course, LawRun, Laws, Records
from ..style import theme

EXPERIMENT = "budget_and_family"
ANNEALED = "annealed"
OBJECTIVES = {
    "sequence_kl": "KL in the reward",
    ANNEALED: "the same, annealed",
    "alpha_dpg": "KL-DPG",
    "rehearsal": r"rehearsal, $-\log u$",
}
"""The objectives in words; the last two descend the forward KL to the filtered model."""
_COLORS = (theme.VERMILLION, theme.ORANGE, theme.GREEN, theme.SKY, theme.BLACK)
_MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True, kw_only=True)
class BudgetAndFamilyConfig(FigureConfig):
    """KL(run || law), in nats, from which on a run has reached its law."""

    bar: float = 0.02


@dataclass(frozen=True, kw_only=True)
class BudgetAndFamilyEnd:
    """The runs of one objective, beta, LoRA rank (None: all weights) and length, means over `seeds`.

    objective: one of OBJECTIVES. effective: of answers, e^entropy given that they are valid. kl: KL(run ||
    law) in nats, where there is a law of full support. The ranges go from the least to the greatest of the
    seeds. reached: the first measured step from which on it stays below the bar; None if a run never does.
    """

    objective: str
    beta: float
    rank: int | None = None
    steps: int
    seeds: int
    effective: float
    effective_range: tuple[float, float]
    kl: float | None = None
    kl_range: tuple[float, float] | None = None
    reached: float | None = None


@dataclass(frozen=True, kw_only=True)
class BudgetAndFamilyNumbers:
    """The ends, the effective number of the filtered model, and how many runs there are of those planned."""

    ends: tuple[BudgetAndFamilyEnd, ...]
    target: float
    runs: int
    planned: int


def compute(config: BudgetAndFamilyConfig, records: Records) -> BudgetAndFamilyNumbers:
    """The ends of the runs, and when they reached the tilted model."""
    laws = records.laws
    runs = laws.of(EXPERIMENT)
    groups: dict[tuple[Any, ...], list[LawRun]] = {}
    for run in runs:
        groups.setdefault((_objective(run), run.beta, run.rank, run.steps), []).append(run)
    # The tilted model's valid answers have the shares of p_*, whatever beta.
    (target, *_) = (run.law_effective_answers for run in runs if run.law_effective_answers is not None)
    return BudgetAndFamilyNumbers(
        ends=tuple(_end(of, laws, config.bar) for of in groups.values()),
        target=target,
        runs=len(runs),
        planned=laws.planned(EXPERIMENT),
    )


def _objective(run: LawRun) -> str:
    return run.form if run.annealed_from is None else ANNEALED


def _end(runs: Sequence[LawRun], laws: Laws, bar: float) -> BudgetAndFamilyEnd:
    first = runs[0]
    courses = laws.courses_of(runs)
    # The filtered model, at which others aim, has no mass on failures: KL(run || p_*) is infinite.
    has_law = first.law in first.kl
    reached = [_reached(run, courses[run.digest], bar) for run in runs] if has_law else [None]
    effective = [run.effective_answers for run in runs]
    kl = [run.kl[run.law or ""] for run in runs] if has_law else []
    return BudgetAndFamilyEnd(
        objective=_objective(first),
        beta=first.beta,
        rank=first.rank,
        steps=first.steps,
        seeds=len(runs),
        effective=float(np.mean(effective)),
        effective_range=(min(effective), max(effective)),
        kl=float(np.mean(kl)) if kl else None,
        kl_range=(min(kl), max(kl)) if kl else None,
        reached=None if None in reached else float(np.mean(np.array(reached, dtype=float))),
    )


def _reached(run: LawRun, course: Course, bar: float) -> int | None:
    """KL(run || p_beta) is the excess KL and the KL of the two pass rates (theory A8)."""
    mu, at_law = np.array(course.validity), run.law_validity or 0.0
    kl = np.array(course.excess_kl) + rel_entr(mu, at_law) + rel_entr(1 - mu, 1 - at_law)
    above = np.flatnonzero(kl > bar)
    since = above[-1] + 1 if above.size else 0
    return course.step[since] if since < len(course.step) else None


def table(results: BudgetAndFamilyNumbers) -> Table:
    """Every end: what is left of the answers, how far it is from its law, and when it got there."""
    head = (
        "objective",
        "beta",
        "rank",
        "steps",
        "runs",
        "effective answers",
        "KL to the law",
        "reached at step",
    )
    rows = [
        (e.objective, f"{e.beta:g}", _rank(e.rank), f"{e.steps}", e.seeds, e.effective, e.kl, e.reached)
        for e in results.ends
    ]
    return Table.of(head, [("p_*", "", "", "", None, results.target, None, None), *rows])


def _rank(rank: int | None) -> str:
    return "all weights" if rank is None else f"rank {rank}"


def draw(config: BudgetAndFamilyConfig, results: BudgetAndFamilyNumbers) -> Drawing:
    """Effective number, KL to the law and steps to reach it, against 1/beta; the objectives by rank."""
    drawing, axes = theme.new(height=4.6, nrows=2, ncols=2)
    ends = [end for end in results.ends if end.objective == "sequence_kl"]
    # The smallest family, a middling one and all weights tell the story in six lines.
    ranks = _ranks(ends)
    ends = [end for end in ends if end.rank in (ranks[0], ranks[len(ranks) // 2], ranks[-1])]
    (left, right), (lower, by_rank) = axes
    _along(left, ends, "effective")
    theme.level(left, results.target)
    left.set(ylabel="effective number of answers", title="What is left of the answers")
    _along(right, ends, "kl")
    theme.level(right, config.bar)
    right.set(yscale="log", ylabel="KL(run || law) in nats", title="How far from the tilted model")
    _along(lower, ends, "reached")
    lower.set(
        yscale="log", ylim=(30, 6000), ylabel="steps", title=f"Steps until that KL stays below {config.bar:g}"
    )
    lengths = [50, 100, 200, max(end.steps for end in ends)]
    lower.set_yticks(lengths, [str(steps) for steps in lengths])
    lower.minorticks_off()
    # No number stands above the longest training.
    theme.level(lower, lengths[-1])
    _by_rank(by_rank, results)
    _legend(drawing, ends)
    return drawing


def _ranks(ends: Sequence[BudgetAndFamilyEnd]) -> list[int | None]:
    """From the smallest family to all weights."""
    return sorted({end.rank for end in ends}, key=lambda rank: np.inf if rank is None else rank)


def _style(ends: Sequence[BudgetAndFamilyEnd], rank: int | None) -> dict[str, Any]:
    place = len(_COLORS) - 1 if rank is None else _ranks(ends).index(rank)
    return {"color": _COLORS[place], "marker": _MARKERS[place]}


def _along(axes: Axes, ends: Sequence[BudgetAndFamilyEnd], measure: str) -> None:
    """Against 1/beta, a line a rank and length; where there is no number, a mark at the edge above."""
    height = 1.02
    for rank in _ranks(ends):
        for steps, line, face in _lengths(ends):
            of = sorted((e for e in ends if (e.rank, e.steps) == (rank, steps)), key=lambda e: 1 / e.beta)
            found = [getattr(end, measure) for end in of]
            values = [np.nan if value is None else value for value in found]
            never = [1 / end.beta for end, value in zip(of, found, strict=True) if value is None]
            how = _style(ends, rank)
            for end in of:
                if between := getattr(end, f"{measure}_range", None):
                    axes.vlines(1 / end.beta, *between, color=how["color"], linewidth=0.8)
            # Below the axes' upper edge, a line a rank and length, where no number is read off.
            height -= 0.05
            places: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "in_layout": False}
            axes.plot(never, [height] * len(never), "x", color=how["color"], markersize=3, **places)
            axes.plot(
                [1 / e.beta for e in of],
                values,
                line,
                markerfacecolor=face or how["color"],
                linewidth=1,
                **how,
            )
    axes.set(xscale="log", xlabel=r"$1/\beta$")
    theme.ticks(axes, sorted({1 / end.beta for end in ends}))


def _lengths(ends: Sequence[BudgetAndFamilyEnd]) -> list[tuple[int, Literal["-", "--"], str | None]]:
    """The shortest training dashed and open, the others solid and filled."""
    first, *others = sorted({end.steps for end in ends})
    return [(first, "--", "white"), *((steps, "-", None) for steps in others)]


def _by_rank(axes: Axes, results: BudgetAndFamilyNumbers) -> None:
    """The effective number after the longest training, with the KL in the reward at its least beta."""
    longest = max(end.steps for end in results.ends)
    least = min(end.beta for end in results.ends if end.objective == "sequence_kl")
    ranks = _ranks(results.ends)
    colors = (theme.PURPLE, theme.VERMILLION, theme.BLUE, theme.GREEN)
    for (objective, words), line, color in zip(
        OBJECTIVES.items(), ("-", "-.", "--", ":"), colors, strict=True
    ):
        of = {
            end.rank: end.effective
            for end in results.ends
            if end.objective == objective
            and end.steps == longest
            and (end.beta == least or objective not in ("sequence_kl", ANNEALED))
        }
        if not of:
            continue
        at = [place for place, rank in enumerate(ranks) if rank in of]
        label = rf"{words}, $\beta = {least:g}$" if objective == "sequence_kl" else words
        axes.plot(at, [of[ranks[place]] for place in at], line, color=color, marker="o", label=label)
    theme.level(axes, results.target, label=r"$p_*$")
    axes.set_xticks(range(len(ranks)), ["all" if rank is None else str(rank) for rank in ranks])
    axes.set(xlabel="LoRA rank", ylabel="effective number of answers", title=f"After {longest} steps")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.5 * (high - low))
    axes.legend(loc="upper left", ncols=2, handlelength=2)


def _legend(drawing: Drawing, ends: Sequence[BudgetAndFamilyEnd]) -> None:
    ranks = [Line2D([], [], label=_rank(rank), **_style(ends, rank)) for rank in _ranks(ends)]
    lengths = []
    for steps, line, face in _lengths(ends):
        words = f"{steps} steps{', open' if face else ''}"
        lengths.append(Line2D([], [], linestyle=line, color=theme.GREY, label=words))
    lengths.append(Line2D([], [], color=theme.GREY, marker="x", linestyle="none", label="never"))
    drawing.legend(handles=[*ranks, *lengths], loc="outside lower center", ncols=7)


FIGURE = Figure(
    name="budget_and_family",
    title="As beta falls, too small a family and too short a training miss the tilted model",
    caption=(
        "A small Llama with a third of 36 answers valid, trained with the KL of the answer in the reward, by "
        "LoRA adapters of several ranks or all weights, for two lengths of training; every answer is "
        "enumerated, means over seeds. The tilted model keeps the base's effective number of valid answers "
        "(e^entropy, dotted) at every beta: a family that cannot hold it stays away from it however long it "
        "trains, and a training too short for 1/beta comes nearer when it is longer. Top: the effective "
        "number and KL(run || law) at the end, with lines from the least to the greatest of the seeds; "
        "below: the first measured step from which on that KL stays below .02 nats (dotted above; a cross "
        "above the longest training: in none), and the effective number by rank, also where the forward KL "
        "to the filtered model is descended instead."
    ),
    results=BudgetAndFamilyNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=BudgetAndFamilyConfig(),
    needs=("laws",),
)
