"""Five pictures of a run that may lose Pass@k: the cells of a notebook in plain Python."""

# %% [markdown]
# # Five pictures of a run that may lose Pass@k
#
# Open it in Jupyter or VS Code, or run `python examples/tour.py [BASE.jsonl TRAINED.jsonl]`, which writes
# `tour-1.png` to `tour-5.png` within a minute. Without files of your own it shows `dph demo`: a small
# text-to-SQL model before and after GRPO with k3 at 0.04, on questions that were not trained.
# Pictures 3 to 5 need no run.

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from dph_theory import FORWARD_KL, stationary
from dph_theory.checkpoints import compare, read_counts
from figures.catalogue import figure
from figures.frames import Records

GREY, BLUE, PURPLE, RED, BLACK = "#777777", "#0072B2", "#CC79A7", "#D55E00", "#000000"
HERE = Path(__file__).parent if "__file__" in globals() else Path("examples")
given = [name for name in sys.argv[1:] if name.endswith((".jsonl", ".csv"))]
before, after = given if len(given) == 2 else (HERE / "counts/base.jsonl", HERE / "counts/grpo.jsonl")
base, trained = read_counts(before), read_counts(after)


def picture(title: str) -> Axes:
    """An empty picture of a column's width."""
    axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")[1]
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


# %% [markdown]
# ## 1. Is Pass@k worse, and from which k on?
# The band holds at all k at once (95%, over prompts). Below zero the trained model is worse.

# %%
found = compare(base, trained)
print(found)
curves = found.curves
axes = picture("1. Pass@k, trained minus base")
axes.axhline(0, color=GREY, linestyle=":")
axes.fill_between(curves.k, curves.low, curves.high, color=BLUE, alpha=0.2, linewidth=0)
axes.plot(curves.k, curves.difference, color=BLUE)
axes.set_xscale("log", base=2)
axes.set_xlabel("k")

# %% [markdown]
# ## 2. Which prompts?
# A dot a prompt. Red: solved before, never since. `found` says how many of them chance alone would show.

# %%
pairs = [(base.rows[one], trained.rows[one]) for one in base.rows if one in trained.rows]
x, y = (np.array([pair[i].c / pair[i].n for pair in pairs]) for i in (0, 1))
lost, shake = (x > 0) & (y == 0), np.random.default_rng(0).uniform(-0.012, 0.012, (2, len(x)))
axes = picture(f"2. Solved before, never since: {lost.sum()} of {(x > 0).sum()}")
axes.plot([0, 1], [0, 1], color=GREY, linestyle=":")
axes.scatter(x + shake[0], y + shake[1], s=9, color=np.where(lost, RED, BLUE), alpha=0.5, linewidths=0)
axes.set(xlabel="pass rate, base", ylabel="pass rate, trained")

# %% [markdown]
# ## 3. What does the place of the KL term decide?
# The policies at which training stops moving, exact, for answers of two tokens. The base gives one
# correct answer 0.9 of the correct ones' mass and the other 0.1. A KL of the whole answer, in the reward,
# retains that at every beta; per-token terms in the loss do not. k3 without importance weight also
# pays for the same beta with more of the pass rate (dashed).

# %%
tables = [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])]
right = np.array([[True, False], [True, False]])
betas = np.geomspace(0.03, 3, 40)
axes = picture("3. Share of the commoner correct answer; pass rate dashed")
for name, form, divergence, color, height in (
    ("KL in the reward", stationary.sequence_policy, (), BLACK, 0.92),
    ("k3 without importance weight", stationary.token_policy, (FORWARD_KL,), BLUE, 0.73),
    ("k2, or k3 with importance weight", stationary.token_policy, (), PURPLE, 0.46),
):
    ends = [form(tables, right, beta, *divergence) for beta in betas]
    axes.plot(betas, [stationary.valid_answer_shares(end, right)[0, 0] for end in ends], color=color)
    axes.plot(
        betas, [stationary.table_pass_rate(end, right) for end in ends], "--", color=color, linewidth=0.8
    )
    axes.text(0.03, height, name, color=color, fontsize=8)
axes.set(xscale="log", xlabel="beta", ylim=(0.4, 1.05))

# %% [markdown]
# ## 4. Which prompts does the advantage work on?
# The factor on each prompt's pass-rate gradient, exact, groups of 8. Dividing by the group's std raises
# both ends; dividing by its mean raises hard prompts alone.

# %%
rates = np.linspace(0.005, 0.995, 199)
axes = picture("4. Weight of a prompt in the expected gradient")
for scale, name, color, height in (
    ("mean", "MaxRL: divided by the group's mean", BLUE, 5.2),
    ("std", "GRPO: divided by the group's std", RED, 2.75),
    ("leave_one_out", "RLOO: not divided", GREY, 0.45),
):
    axes.plot(rates, stationary.group_weight(8, rates, scale), color=color)
    axes.text(0.34 if scale == "std" else 0.16, height, name, color=color, fontsize=8)
axes.set(xlabel="pass rate of the prompt", ylim=(0, 7.5))

# %% [markdown]
# ## 5. What did each method retain, and at what price?
# A pretrained Llama of 135M parameters, stored runs of five seeds. Small dots are seeds, large ones
# means; numbers are coefficients. Up is retained, right is learnt.

# %%
record = figure("pretrained").numbers(Records())["methods"]
axes = picture("5. Retained against learnt, pretrained Llama")
for method, kl, name, color, places in (
    ("base", "none", "base", GREY, [(6, 4)]),
    ("GRPO", "none", "no KL", RED, [(-38, -4)]),
    ("GRPO", "k3", "k3", BLUE, [(7, 3), (7, 3)]),
    ("GRPO", "k2", "k2", PURPLE, [(6, 9), (-34, -14)]),
    ("DPH-F", "none", "DPH-F", BLACK, [(8, 4), (6, -14)]),
):
    seeds = 1 if method == "base" else 5
    rows = record[(record.method == method) & (record.kl == kl)]
    runs = rows.groupby("coefficient").filter(lambda rows: len(rows) == seeds)  # noqa: B023
    means = runs.groupby("coefficient").mean(numeric_only=True)
    if seeds > 1:
        axes.plot(runs["trained 1"], runs["held 256"], ".", color=color, alpha=0.35, markersize=4)
    axes.plot(means["trained 1"], means["held 256"], "o-" if kl != "none" else "o", color=color, markersize=5)
    for (coefficient, row), place in zip(means.iterrows(), places, strict=True):
        label, at = (f"{name} {coefficient:g}" if coefficient else name), (row["trained 1"], row["held 256"])
        axes.annotate(label, at, place, textcoords="offset points", color=color, fontsize=8)
axes.set(xlabel="Pass@1 on trained prompts", ylabel="Pass@256 on others", xlim=(0.08, 0.9), ylim=(0.25, 0.88))

# %%
if __name__ == "__main__" and "ipykernel" not in sys.modules:
    for number in plt.get_fignums():
        plt.figure(number).savefig(f"tour-{number}.png", dpi=140)
