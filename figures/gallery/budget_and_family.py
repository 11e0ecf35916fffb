"""As beta falls, too small a family and too short a training miss the tilted model.

A small Llama with a third of 36 answers correct, trained with the KL of the answer in the reward, by LoRA
adapters of several ranks or all weights; every answer is enumerated. Left, means over seeds: KL(run ||
stationary policy), which a small model class or a short training leaves. Right, a mark a seed, lines through
the means: the effective number of correct answers (e^entropy; dotted: the filtered model's) after the longest
training at the least beta, also where the forward KL to the filtered model is minimised instead. With the KL
in the reward every adapter stops short of the stationary policy at one of two places, near 4.6 or near 7
effective answers; at rank 4 the two seeds stop at different ones, hence the zigzag of the means.
"""

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import Sheet, look

NEEDS = ("laws",)
OBJECTIVES = {
    "sequence_kl": ("KL in the reward", look("KL in the reward")),
    "annealed": ("the same, beta falling", look("KL in the reward", linestyle="--", markerfacecolor="white")),
    "alpha_dpg": ("KL-DPG", look("KL-DPG")),
    "rehearsal": (r"rehearsal, $-\log u$", look("rehearsal")),
}
LINES = {1: ("-", "o"), 4: ("--", "s"), np.inf: (":", "v")}
"""By the rank of the adapter; infinite: all weights."""


def numbers(records: Records) -> pd.DataFrame:
    """By objective, beta, rank (infinite: all weights) and steps: effective answers, KL to the prediction."""
    runs = records.llama.runs_of("budget_and_family")
    runs = runs.assign(
        rank=runs["rank"].astype(float).fillna(np.inf),
        objective=runs.form.where(runs.beta_from.isna(), "annealed"),
    )
    frame = runs.groupby(["objective", "beta", "rank", "steps"]).agg(
        seeds=("seed", "size"),
        effective=("effective_answers", "mean"),
        ends=("effective_answers", list),
        kl=("kl_to_prediction", "mean"),
    )
    return frame.reset_index().assign(target=runs.predicted_effective_answers.max())


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Left the KL to the prediction along beta, by rank and length; right the effective number by rank."""
    left, right = sheet.panels(2, height=2.5)
    color = look("KL in the reward")["color"]
    for (rank, steps), line in frame[frame.objective == "sequence_kl"].groupby(["rank", "steps"]):
        if rank in LINES:
            form, marker = LINES[rank]
            face = {"markerfacecolor": "white"} if steps == frame.steps.min() else {}
            words = f"{'all weights' if rank == np.inf else f'rank {rank:.0f}'}, {steps} steps"
            left.plot(line.beta, line.kl, form, marker=marker, color=color, label=words, **face)
    left.set(
        xscale="log",
        yscale="log",
        xlabel=r"$\beta$",
        ylabel="KL(run || stationary policy), nats",
        title="KL in the reward",
    )
    left.legend(fontsize=6)
    longest = frame[frame.steps == frame.steps.max()].sort_values("rank")
    least = longest[longest.beta == longest.beta[longest.objective == "sequence_kl"].min()]
    places = {rank: place for place, rank in enumerate(sorted(frame["rank"].unique()))}
    for name, (words, looks) in OBJECTIVES.items():
        chosen = least if name in ("sequence_kl", "annealed") else longest
        line = chosen[chosen.objective == name]
        right.plot(line["rank"].map(places), line.effective, **looks | {"marker": "", "linewidth": 0.7})
        at = [places[rank] for rank, seeds in zip(line["rank"], line.ends, strict=True) for _ in seeds]
        right.plot(at, np.concatenate([*line.ends]), label=words, **looks | {"linestyle": ""})
    right.axhline(frame.target.iloc[0], color="grey", linestyle=":", label="$p_*$")
    right.set_xticks(list(places.values()), ["all" if rank == np.inf else f"{rank:.0f}" for rank in places])
    right.set(xlabel="rank of the adapter", ylabel="effective number of answers", title="Longest, least beta")
    right.set_ylim(top=1.5 * frame.effective.max())
    right.legend(fontsize=6, loc="upper left", ncols=2)


def ends(frame: pd.DataFrame) -> pd.DataFrame:
    """The trainings at the least beta with the KL in the reward, and the same annealed."""
    aimed = frame[frame.objective.isin(["sequence_kl", "annealed"])]
    return aimed[aimed.beta == aimed.beta.min()]


def claim(frame: pd.DataFrame) -> bool:
    """The smallest adapter and the short training of all weights end off; adapters at one of two places."""
    at = ends(frame)
    at = at[at.objective == "sequence_kl"]
    off = (at["rank"] == 1) | ((at["rank"] == np.inf) & (at.steps == at.steps.min()))
    longest = at[(at.steps == at.steps.max()) & (at["rank"] < np.inf)]
    places = np.concatenate([*longest.ends])
    return bool((at.kl[off] > 0.02).all() and (np.minimum(abs(places - 4.6), abs(places - 7)) < 0.1).all())


def table(frame: pd.DataFrame) -> Table:
    """Every setting: effective answers and KL to the stationary policy."""
    shown = frame.assign(
        objective=frame.objective.map(lambda name: OBJECTIVES[name][0]),
        rank=["all" if rank == np.inf else f"{rank:.0f}" for rank in frame["rank"]],
    )
    names = {name: name for name in ("objective", "beta", "rank", "steps")}
    return tabled(shown, names | {"effective": "effective answers", "kl": "KL to the law"})
