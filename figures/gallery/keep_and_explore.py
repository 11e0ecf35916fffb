"""Keep and explore: what each method still solves of what the base solved, and what it solves anew."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from matplotlib.figure import Figure as Drawing

from dph_theory.intervals import Interval
from dph_theory.support.table import Table
from toy_lm.styles.results import MethodScore, Split, scores

from ..figure import Figure, FigureConfig
from ..records import Records
from ..style import seeds, theme
from ..style.seeds import Means

Measure: TypeAlias = Literal["retention", "exploration"]
WORDS: Mapping[Measure, str] = {"retention": "kept", "exploration": "newly solved"}


@dataclass(frozen=True, kw_only=True)
class KeepAndExploreNumbers:
    """Of the prompts that the base solves the share kept (retention), of the others that newly solved.

    `counts` says how many such prompts there are, averaged over seeds; a share is None where there are none.
    """

    counts: dict[Split, dict[Measure, float]]
    methods: dict[str, dict[Split, dict[Measure, Means | None]]]


def compute(config: FigureConfig, records: Records) -> KeepAndExploreNumbers:
    """The shares kept and newly solved by method and split, with intervals over seeds, and of how many."""
    tiny = records.styles
    score = {split: scores(tiny, split) for split in seeds.SPLITS}
    counts: dict[Split, dict[Measure, float]] = {}
    for split in seeds.SPLITS:
        ends = [base.on(split) for base in tiny.bases]
        solved = fmean(end.base_solved for end in ends)
        counts[split] = {"retention": solved, "exploration": fmean(end.base_unsolved for end in ends)}
    return KeepAndExploreNumbers(
        counts=counts,
        methods={
            label: {split: _shares(score[split][label]) for split in seeds.SPLITS}
            for label in score["train"]
            if label != "base"
        },
    )


def _shares(score: MethodScore) -> dict[Measure, Means | None]:
    shares: dict[Measure, Interval | None] = {"retention": score.retention, "exploration": score.exploration}
    return {name: None if share is None else Means.of(share) for name, share in shares.items()}


def table(results: KeepAndExploreNumbers) -> Table:
    """The shares of every method, means over seeds."""
    head = ("method", *(f"{word}, {words}" for words in seeds.SPLITS.values() for word in WORDS.values()))
    rows = []
    for label, found in results.methods.items():
        shares = [share for of in found.values() for share in of.values()]
        rows.append((label, *(None if share is None else float(share.mean) for share in shares)))
    return Table.of(head, rows)


def draw(config: FigureConfig, results: KeepAndExploreNumbers) -> Drawing:
    """Left the share kept, right the share newly solved; a row a method."""
    methods = results.methods
    drawing, axes = theme.new(height=1.2 + 0.21 * len(methods), ncols=2, sharey=True)
    for ax, (measure, words) in zip(axes, WORDS.items(), strict=True):
        for row, (label, found) in enumerate(methods.items()):
            for (split, shares), shift in zip(found.items(), (-0.16, 0.16), strict=True):
                seeds.dot(ax, shares[measure], row + shift, label, filled=split == "train")
        counts = [count[measure] for count in results.counts.values()]
        solved = "solved by the base" if measure == "retention" else "not solved by the base"
        ax.set(xlim=(-0.03, 1.03), xlabel=f"share {words}")
        ax.set_title(f"Of {counts[0]:.0f} + {counts[1]:.0f} prompts {solved}")
        ax.grid(axis="y", color=theme.GREY, alpha=0.2, linewidth=0.5)
        ax.set_axisbelow(True)
    seeds.rows(axes[0], methods)
    for words, face in zip(seeds.SPLITS.values(), (theme.GREY, "white"), strict=True):
        axes[0].plot([], [], "o", color=theme.GREY, markerfacecolor=face, label=words)
    seeds.legend(drawing, axes[:1], 2)
    return drawing


FIGURE = Figure(
    name="keep_and_explore",
    title="Anchored training keeps what the base solves; without an anchor about a third is lost",
    caption=(
        "Of the prompts that the base solves, the share still solved after training (left); of the others, "
        "the share newly solved (right); a prompt counts as solved where Pass@16, exact by enumeration, is "
        "at least 0.9. A tiny transformer, on the prompts it was trained on (filled) and on held-out ones "
        "(open), which the titles count averaged over seeds; means over seeds with 95% intervals. RKL is "
        "reverse KL to the base on all prompts, and DPH methods train on stored correct samples of the "
        "prompts that the base solves."
    ),
    results=KeepAndExploreNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("styles",),
)
