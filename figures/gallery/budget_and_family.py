"""Adapters stay farther from the tilted policy than training of all weights, as beta falls.

A small Llama with a third of 36 answers correct is trained with the KL of the answer in the reward, by LoRA
adapters of ranks 1 to 8 (band) or with all weights; every answer is enumerated. Shown are means over seeds of
KL(run || stationary policy). The table also has exp(entropy) of the correct answers, and runs that
minimise the forward KL to the filtered model.
"""

from typing import Any

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLUE, ORANGE, VERMILLION, Sheet

NEEDS = ("laws",)
OBJECTIVES = {"sequence_kl": "KL in the reward", "alpha_dpg": "KL-DPG", "rehearsal": r"rehearsal, $-\log u$"}


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
    """KL to the stationary policy along beta: all adapters as a band, all weights at both lengths."""
    axes, reward = sheet.panels(height=2.5), frame[frame.objective == "sequence_kl"]
    adapters = reward[reward["rank"] < np.inf].groupby("beta").kl.agg(["min", "max"])
    axes.fill_between(adapters.index, adapters["min"], adapters["max"], color=BLUE, alpha=0.4, linewidth=0)
    label: dict[str, Any] = {"textcoords": "offset points", "color": BLUE, "size": 9}
    axes.annotate("adapters, ranks 1 to 8", (0.2, adapters["max"][0.2]), (-2, 8), ha="right", **label)
    for (steps, line), color in zip(
        reward[reward["rank"] == np.inf].groupby("steps"), (ORANGE, VERMILLION), strict=True
    ):
        axes.plot(line.beta, line.kl, "o-", color=color)
        at = line[line.beta == line.beta.max()].iloc[0]
        words = f"all weights, {steps} steps" if steps == frame.steps.max() else f"{steps} steps"
        axes.annotate(words, (at.beta, at.kl), (8, -12), **label | {"color": color})
    axes.set(yscale="log", ylim=(5e-6, None), ylabel="KL(run || tilted policy), nats")
    axes.set_xlabel(r"$\beta$, falling to the right")
    axes.invert_xaxis()


def claim(frame: pd.DataFrame) -> bool:
    """Adapters are farther off than all weights in the same steps; each is farther as beta falls."""
    reward = frame[frame.objective == "sequence_kl"].sort_values("beta")
    wide = reward.pivot_table(index=["steps", "beta"], columns="rank", values="kl")
    falling = all((line.diff().dropna() < 0).all(axis=None) for _, line in wide.groupby("steps"))
    return bool(falling and wide.drop(columns=np.inf).gt(wide[np.inf], axis=0).all(axis=None))


def table(frame: pd.DataFrame) -> Table:
    """Effective answers and KL to the stationary policy for every setting."""
    shown = frame.assign(
        objective=frame.objective.map(OBJECTIVES).fillna("KL in the reward, beta falling"),
        rank=["all" if rank == np.inf else f"{rank:.0f}" for rank in frame["rank"]],
    )
    names = {name: name for name in ("objective", "beta", "rank", "steps")}
    return tabled(shown, names | {"effective": "effective answers", "kl": "KL to the stationary policy"})
