"""The place of the KL penalty decides which policy training converges to.

A small Llama of two layers is trained by TRL's GRPOTrainer on answers of two tokens, of which the first
decides whether the answer is valid with probability .9 or .1; every answer is enumerated. Lines are the
stationary policies, computed from the base before training, with their limits as beta falls; points are runs,
one per seed, by the place of the KL penalty, and crosses are outside the tolerance of their prediction.
"""

import numpy as np
import pandas as pd

from dph_theory import FORWARD_KL, stationary
from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import GREY, Sheet, look

NEEDS = ("laws",)
TASK, BETA = "selection-2", 0.2
FORMS = {"k3": "k3 without importance weight", "k3_corrected": "k3 with importance weight"}
FORMS |= {"sequence_kl": "KL in the reward"}
# The stationary policy of each form.
POLICIES = dict(zip(FORMS, ("token forward KL", "token reverse KL", "sequence reverse KL"), strict=True))
BASE = [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])]
"""Probabilities of the first token, and of the second after each; equal tokens make the second valid."""
VALID = np.array([[True, False], [True, False]])


def numbers(records: Records) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stationary policies along beta, with their limits at beta = 0; the runs on this task."""
    betas = np.geomspace(0.015, 1.5, 120)
    batch = [np.broadcast_to(table, (betas.size, *table.shape)) for table in BASE]
    accepted = np.broadcast_to(VALID, (betas.size, *VALID.shape))
    curves = [stationary.token_policy(batch, accepted, betas, FORWARD_KL)]
    curves += [
        policy(batch, accepted, betas) for policy in (stationary.token_policy, stationary.sequence_policy)
    ]
    limits = (stationary.token_forward_limit, stationary.locally_filtered, stationary.filtered_policy)
    parts = []
    for form, curve, limit in zip(FORMS, curves, limits, strict=True):
        for at, policy in ((betas, curve), (np.zeros(1), limit(BASE, VALID))):
            mass = np.atleast_2d(policy[0] * policy[1][..., 0])
            pass_rate = mass.sum(axis=-1)
            shares = {"pass_rate": pass_rate, "first_share": mass[:, 0] / pass_rate}
            parts.append(pd.DataFrame({"form": form, "beta": at, **shares}))
    runs = records.llama.runs_of("which_policy", "limits").query("task == @TASK and form in @FORMS")
    return pd.concat(parts), runs


def draw(sheet: Sheet, numbers: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """The first answer's share of the valid ones against beta, one line per form; misses are crosses."""
    policies, runs = numbers
    axes = sheet.panels(height=2.6)
    for form, words in FORMS.items():
        color = look(words)["color"]
        line = policies[(policies.form == form) & (policies.beta > 0)]
        limit = policies[(policies.form == form) & (policies.beta == 0)].first_share.item()
        axes.plot(line.beta, line.first_share, color=color)
        for reached, marker in ((True, "o"), (False, "x")):
            own = runs[(runs.form == form) & ((runs.verdict == "matched") == reached)]
            axes.plot(own.beta, own.first_share, marker, color=color)
        label = f"{words}: {limit:.3g}".replace(" weight", "\nweight")
        axes.text(0.017, limit + 0.02, label, color=color, size=8, va="bottom")
    axes.text(1.5, 0.5, "lines: predicted\ndots: runs\n(crosses: missed)", ha="right", color=GREY, size=9)
    axes.set(xscale="log", xlabel=r"$\beta$", ylabel="P(first answer | valid)", ylim=(0.48, 1.02))


def distances(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean KL(run || stationary policy) at BETA in nats: one row per form, one column per policy."""
    at = runs[(runs.experiment == "which_policy") & (runs.beta == BETA)]
    return at.groupby("form")[[f"kl {policy}" for policy in POLICIES.values()]].mean().loc[list(FORMS)]


def claim(numbers: tuple[pd.DataFrame, pd.DataFrame]) -> bool:
    """The nearest stationary policy of every form is its own."""
    return list(distances(numbers[1]).idxmin(axis=1)) == [f"kl {policy}" for policy in POLICIES.values()]


def table(numbers: tuple[pd.DataFrame, pd.DataFrame]) -> Table:
    """Mean KL(run || stationary policy) by form; the minimum is the predicted policy."""
    frame = distances(numbers[1]).rename(columns=lambda name: name.replace("kl", "KL to"))
    frame.insert(0, "form", [FORMS[form] for form in frame.index])
    frame.insert(1, "predicted", [POLICIES[form] for form in frame.index])
    return tabled(frame, best=dict.fromkeys(frame.columns[2:], min))


def quotes(numbers: tuple[pd.DataFrame, pd.DataFrame]) -> dict[str, float | str]:
    """Mean distance of each form's runs to its own stationary policy."""
    kl = distances(numbers[1])
    return {f"KL of {form}": kl.loc[form, f"kl {policy}"] for form, policy in POLICIES.items()}
