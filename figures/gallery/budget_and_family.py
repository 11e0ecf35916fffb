"""Small adapters and short trainings end far from the tilted policy as beta falls.

A small Llama with a third of 36 answers correct is trained with the KL of the answer in the reward, by LoRA
adapters of several ranks or with all weights; every answer is enumerated. Lines are means over seeds of
KL(run || stationary policy) after 600 steps, and dashed after 150. The table also has exp(entropy) of the
correct answers, and runs that minimise the forward KL to the filtered model.
"""

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import Sheet

NEEDS = ("laws",)
OBJECTIVES = {"sequence_kl": "KL in the reward", "alpha_dpg": "KL-DPG", "rehearsal": r"rehearsal, $-\log u$"}
SHADES = {0.1: "#08306B", 0.2: "#4A98C9", 0.5: "#9CC8E2"}  # By beta.


def numbers(records: Records) -> pd.DataFrame:
    """Effective answers and KL to the prediction by objective, beta, rank (inf: all weights) and steps."""
    runs = records.llama.runs_of("budget_and_family")
    runs = runs.assign(
        rank=runs["rank"].astype(float).fillna(np.inf),
        objective=runs.form.where(runs.beta_from.isna(), "annealed"),
    )
    frame = runs.groupby(["objective", "beta", "rank", "steps"]).agg(
        seeds=("seed", "size"), effective=("effective_answers", "mean"), kl=("kl_to_prediction", "mean")
    )
    return frame.reset_index()


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """KL to the stationary policy by rank, one line per beta and length."""
    axes, reward = sheet.panels(height=2.5), frame[frame.objective == "sequence_kl"]
    places = {rank: place for place, rank in enumerate(sorted(frame["rank"].unique()))}
    for beta, color in SHADES.items():
        for steps, line in reward[reward.beta == beta].groupby("steps"):
            style = {"color": color, "linestyle": "-" if steps == frame.steps.max() else "--", "marker": "d"}
            label = f"{steps} steps" if beta == min(SHADES) else None
            axes.plot(line["rank"].map(places), line.kl, label=label, **style)
        axes.annotate(rf"$\beta = {beta:g}$", (1.5, line.kl.max()), (0, -11), textcoords="offset points",
                      color=color, size=8, ha="center")  # fmt: skip
    axes.set(yscale="log", ylabel="KL(run || stationary policy), nats", xlabel="rank of the adapter")
    axes.set_xticks([*places.values()], ["all" if rank == np.inf else f"{rank:.0f}" for rank in places])
    sheet.legend([axes])


def claim(frame: pd.DataFrame) -> bool:
    """At the smallest beta the smallest adapter and the short training of all weights miss by most."""
    at = frame[frame.objective == "sequence_kl"]
    at = at[at.beta == at.beta.min()]
    off = (at["rank"] == 1) | ((at["rank"] == np.inf) & (at.steps == at.steps.min()))
    unconstrained = at.kl[(at["rank"] == np.inf) & (at.steps == at.steps.max())]
    return bool((at.kl[off] > 0.02).all() and (at.kl[off] > unconstrained.item()).all())


def table(frame: pd.DataFrame) -> Table:
    """Effective answers and KL to the stationary policy for every setting."""
    shown = frame.assign(
        objective=frame.objective.map(OBJECTIVES).fillna("KL in the reward, beta falling"),
        rank=["all" if rank == np.inf else f"{rank:.0f}" for rank in frame["rank"]],
    )
    names = {name: name for name in ("objective", "beta", "rank", "steps")}
    return tabled(shown, names | {"effective": "effective answers", "kl": "KL to the stationary policy"})
