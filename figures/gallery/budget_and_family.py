"""Too small a family and too short a training miss the tilted model as beta falls.

A small Llama with a third of 36 answers correct is trained with the KL of the answer in the reward, by LoRA
adapters of several ranks or with all weights; every answer is enumerated. Left: mean over seeds of KL(run ||
stationary policy), which a small model class or a short training (dashed) leaves. Right: one mark per seed,
at the smallest beta and after the longest training, for the effective number of correct answers (e^entropy;
dotted: the filtered model's), also for runs that minimise the forward KL to the filtered model. Adapters with
the KL in the reward stop at one of two values, near 4.6 or near 7.
"""

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import Sheet, look

NEEDS = ("laws",)
OBJECTIVES = {
    "sequence_kl": ("KL in the reward", look("KL in the reward")),
    "alpha_dpg": ("KL-DPG", look("KL-DPG")),
    "rehearsal": (r"rehearsal, $-\log u$", look("rehearsal")),
}
SHADES = {0.1: "#08306B", 0.2: "#4A98C9", 0.5: "#9CC8E2"}  # By beta.


def numbers(records: Records) -> pd.DataFrame:
    """Effective answers and KL to the prediction by objective, beta, rank (inf: all weights) and steps."""
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
    """By rank: left the KL to the stationary policy for each length; right each seed's effective number."""
    left, right = sheet.panels(2, height=2.5)
    places = {rank: place for place, rank in enumerate(sorted(frame["rank"].unique()))}
    reward, longest = frame[frame.objective == "sequence_kl"], frame[frame.steps == frame.steps.max()]
    for beta, color in SHADES.items():
        for steps, line in reward[reward.beta == beta].groupby("steps"):
            is_long = steps == frame.steps.max()
            label = rf"$\beta = {beta:g}$" if is_long else None
            style = {"color": color, "linestyle": "-" if is_long else "--", "marker": "d", "label": label}
            left.plot(line["rank"].map(places), line.kl, **style)
    left.set(yscale="log", ylabel="KL(run || stationary policy), nats")
    left.set_title(f"KL in the reward, {frame.steps.max()} steps (dashed: {frame.steps.min()})")
    left.legend(loc="lower left")
    for shift, (name, (words, looks)) in zip((-0.12, 0.0, 0.12), OBJECTIVES.items(), strict=True):
        line = longest[longest.objective == name]
        line = line[line.beta == line.beta.min()]
        seeds = line.explode("ends")
        style = looks | {"linestyle": "", "markersize": 5}
        right.plot(seeds["rank"].map(places) + shift, seeds.ends, label=words, **style)
    right.axhline(frame.target.iloc[0], color="grey", linestyle=":", label="$p_*$")
    right.set(ylabel="effective number of answers", title=r"Longest training, least $\beta$")
    right.set_ylim(top=1.35 * frame.effective.max())
    right.legend(loc="upper left", ncols=2)
    for axes in (left, right):
        axes.set_xticks([*places.values()], ["all" if rank == np.inf else f"{rank:.0f}" for rank in places])
        axes.set_xlabel("rank of the adapter")


def claim(frame: pd.DataFrame) -> bool:
    """The smallest adapter and the short training of all weights miss; adapters reach one of two values."""
    at = frame[frame.objective == "sequence_kl"]
    at = at[at.beta == at.beta.min()]
    off = (at["rank"] == 1) | ((at["rank"] == np.inf) & (at.steps == at.steps.min()))
    longest = at[(at.steps == at.steps.max()) & (at["rank"] < np.inf)]
    places = np.concatenate([*longest.ends])
    return bool((at.kl[off] > 0.02).all() and (np.minimum(abs(places - 4.6), abs(places - 7)) < 0.1).all())


def table(frame: pd.DataFrame) -> Table:
    """Effective answers and KL to the stationary policy for every setting."""
    words = {name: label for name, (label, _) in OBJECTIVES.items()}
    shown = frame.assign(
        objective=frame.objective.map(words).fillna("KL in the reward, beta falling"),
        rank=["all" if rank == np.inf else f"{rank:.0f}" for rank in frame["rank"]],
    )
    names = {name: name for name in ("objective", "beta", "rank", "steps")}
    return tabled(shown, names | {"effective": "effective answers", "kl": "KL to the stationary policy"})
