"""On real SQL, GRPO loses Pass@k that MaxRL and DPH retain at about equal Pass@1.

Pass@k on held-out questions after 640 optimizer steps under TRL: a Llama of 0.2 million weights, rewards by
execution in SQLite, groups of 8, no KL penalty; each curve is a mean over seeds, and its band runs from the
least to the largest seed. All trained policies have about the same Pass@1. Advantages are the reward minus
the group's mean, divided by nothing (Dr. GRPO), by the group's std (GRPO) or by its mean (MaxRL); DPH-F
rehearses stored correct answers to solved questions, and DPH-MaxRL does so with the advantage of MaxRL. The
table has all runs at 160 steps and at their last step.
"""

import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILLION, Sheet, names_at, ticks

NEEDS = ("sql",)
SHOWN = {
    "base": ("base", BLACK),
    "Dr. GRPO": ("Dr. GRPO", GREY),
    "GRPO": ("GRPO", VERMILLION),
    "MaxRL": ("MaxRL", ORANGE),
    "DPH-F": ("DPH-F", GREEN),
    "DPH-F by mean": ("DPH-MaxRL", BLUE),
}
"""Name and colour of each method in the picture, by its name in the record."""
STEPS = (160, 640)
SPREAD = 0.05  # Largest difference in Pass@1 that is called about equal, and largest loss called retained.


def numbers(records: Records) -> pd.DataFrame:
    """One row per run, step and k: held-out and trained Pass@k."""
    results, shown = records.results("sql"), records.record("sql")["config"]["shown"]
    base = results["base"]
    points = [("base", 0, 0, base["held_out"], base["trained"])]
    for run in results["runs"]:
        points += [
            (run["label"], run["seed"], point["step"], point["held_out"], point["trained"])
            for point in run["course"]
        ]
    rows = [
        (label, seed, step, k, held_out, trained)
        for label, seed, step, *sets in points
        for k, held_out, trained in zip(shown, *(answers["pass_at"] for answers in sets), strict=True)
    ]
    return pd.DataFrame(rows, columns=["method", "seed", "step", "k", "held_out", "trained"])


def last(frame: pd.DataFrame) -> pd.DataFrame:
    """Held-out Pass@k after the last step: mean, least and largest seed, one row per method and k."""
    rows = frame[frame.method.isin(SHOWN) & frame.step.isin((0, STEPS[-1]))]
    summary = rows.groupby(["method", "k"]).held_out.agg(["mean", "min", "max", "size"])
    return summary.reset_index()


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Pass@k against k, one curve per method, named at its end."""
    axes, rows = sheet.panels(height=3.0), last(frame)
    ends: list[tuple[float, str, str]] = []
    for method, (name, colour) in SHOWN.items():
        curve = rows[rows.method == method]
        if not curve.empty:
            line = ":" if method == "base" else "-"
            axes.plot(curve.k, curve["mean"], line, color=colour, linewidth=2)
            axes.fill_between(curve.k, curve["min"], curve["max"], color=colour, alpha=0.2, linewidth=0)
            ends.append((float(curve["mean"].iloc[-1]), name, colour))
    names_at(axes, 70, ends)
    ticks(axes, sorted(frame.k.unique()), base=2)
    axes.set(xlim=(0.9, 260), ylim=(0.4, 1.05), xlabel="samples $k$", ylabel=r"Pass@$k$, held-out questions")


def claim(frame: pd.DataFrame) -> bool:
    """Pass@32 falls with GRPO, hardly with MaxRL and DPH, at about equal Pass@1."""
    rows = last(frame).set_index(["method", "k"])["mean"]
    retaining = [rows[method] for method in ("MaxRL", "DPH-F", "DPH-F by mean")]
    near = all(rows["base", 32] - other[32] < SPREAD for other in retaining)
    equal = all(abs(rows["GRPO", 1] - other[1]) < SPREAD for other in retaining)
    return bool(rows["base", 32] - rows["GRPO", 32] > 4 * SPREAD and near and equal)


def table(frame: pd.DataFrame) -> Table:
    """Held-out Pass@k of every method, means over seeds, at 160 steps and at the last one."""
    rows = frame[frame.step.isin((0, *STEPS))]
    means = rows.pivot_table(index=["method", "step"], columns="k", values="held_out", sort=False)
    seeds = rows.groupby(["method", "step"]).seed.nunique()
    wide = means.rename(columns=lambda k: f"Pass@{k}").assign(seeds=seeds).reset_index()
    return tabled(
        wide,
        {name: name for name in ("method", "step", "seeds", *means.rename(columns=lambda k: f"Pass@{k}"))},
    )


def quotes(frame: pd.DataFrame) -> dict[str, float]:
    """Held-out Pass@1 and Pass@32 after the last step."""
    rows = last(frame).set_index(["method", "k"])["mean"]
    return {
        f"{SHOWN[method][0]} Pass@{k}": round(float(value), 3)
        for (method, k), value in rows.items()
        if k in (1, 32)
    }
