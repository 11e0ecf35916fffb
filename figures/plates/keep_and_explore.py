"""Keep and explore: what each method still solves of what the base solved, and what it solves anew."""

from dataclasses import dataclass

from matplotlib.figure import Figure as Drawing

from toy_lm.styles.results import Split
from toy_lm.styles.summary import scores

from ..figure import Config, Figure
from ..look import seeds, theme
from ..look.seeds import Means
from ..look.tables import Table
from ..results.records import Records

WORDS = {"retention": "kept", "exploration": "newly solved"}


@dataclass(frozen=True)
class Shares:
    """Of the prompts that the base solves, the share kept; of the others, the share newly solved.

    None where there are no such prompts.
    """

    retention: Means | None = None
    exploration: Means | None = None


@dataclass(frozen=True)
class Counts:
    """How many prompts the base solves and does not solve, averaged over seeds."""

    retention: float
    exploration: float


@dataclass(frozen=True, kw_only=True)
class Results:
    """By split: how many prompts, and the shares by method."""

    counts: dict[Split, Counts]
    methods: dict[str, dict[Split, Shares]]


def compute(config: Config, records: Records) -> Results:
    """The shares kept and newly solved by method and split, with intervals over seeds, and of how many."""
    tiny = records.styles
    score = {split: scores(tiny, split) for split in seeds.SPLITS}
    solved = {split: [base.on(split) for base in tiny.bases] for split in seeds.SPLITS}
    labels = [label for label in tiny.ends("train") if label != "base"]
    return Results(
        counts={
            split: Counts(
                sum(end.base_solved for end in ends) / len(ends),
                sum(end.base_unsolved for end in ends) / len(ends),
            )
            for split, ends in solved.items()
        },
        methods={
            label: {
                split: Shares(
                    *(
                        None if found is None else Means.of(found)
                        for found in (score[split][label].retention, score[split][label].exploration)
                    )
                )
                for split in seeds.SPLITS
            }
            for label in labels
        },
    )


def table(results: Results) -> Table:
    """The shares of every method, means over seeds."""
    head = ("method", *(f"{word}, {words}" for words in seeds.SPLITS.values() for word in WORDS.values()))
    rows = [
        (label, *(_mean(getattr(found[split], name)) for split in seeds.SPLITS for name in WORDS))
        for label, found in results.methods.items()
    ]
    return Table.of(head, rows)


def _mean(found: Means | None) -> float | None:
    return None if found is None else float(found.mean)


def draw(config: Config, results: Results) -> Drawing:
    """Left the share kept, right the share newly solved; a row a method."""
    methods = results.methods
    drawing, axes = theme.new(height=1.2 + 0.21 * len(methods), ncols=2, sharey=True)
    for ax, (measure, words) in zip(axes, WORDS.items(), strict=True):
        for row, (label, found) in enumerate(methods.items()):
            for (split, shares), shift in zip(found.items(), (-0.16, 0.16), strict=True):
                seeds.dot(ax, getattr(shares, measure), row + shift, label, filled=split == "train")
        counts = [getattr(count, measure) for count in results.counts.values()]
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
    title="Keep and explore",
    caption=(
        "Of the prompts that the base solves, the share still solved after training (left); of the others, "
        "the share newly solved (right); a prompt counts as solved where Pass@16, exact by enumeration, is "
        "at least 0.9. A tiny transformer, on the prompts it was trained on (filled) and on held-out ones "
        "(open), which the titles count averaged over seeds; means over seeds with 95% intervals. RKL is "
        "reverse KL to the base on all prompts, and DPH methods train on stored correct samples of the "
        "prompts that the base solves."
    ),
    results=Results,
    compute=compute,
    draw=draw,
    table=table,
    needs=("styles",),
)
