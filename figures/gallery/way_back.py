"""Lost answers come back soon by rehearsal, late by a penalty on the policy's own answers.

A small Llama, in which the second answer's share among the valid ones has fallen from .1 to the share beside
each axis, is trained by plain gradient descent towards the same optimum. Thin lines are medians of runs with
bands over all of them, every answer enumerated; thick lines are the flow of the expected update in the
logits. A penalty on the policy's own answers hardly moves an answer that is hardly sampled; KL-DPG has the
expected update of rehearsal but learns only from answers that the policy draws. Time is the penalty's
coefficient times the flow's time; one factor scales the time of all runs.
"""

import numpy as np
import pandas as pd

from dph_theory.support.errors import argument_error
from dph_theory.support.table import Table

from ..frames import Records
from ..style import Sheet, look

NEEDS = ("laws",)
EXPERIMENT, LENGTH = "way_back", 2
"""The runs, and the tokens of their answers, by which a run's time is divided."""
SHOWN = ((False, 0.01), (True, 0.001))  # Panels: lost by training or by a fit; initial share.
LOOKS = {
    "sequence_kl": look("KL in the reward", label="KL of the answer in the reward", marker=""),
    "rehearsal": look("rehearsal", label=r"$-\log u$ on stored correct answers", marker=""),
    "alpha_dpg": look("KL-DPG", label="KL-DPG, on the policy's own answers", marker=""),
}
KINDS = {"sequence_kl": "penalties", "k3_corrected": "penalties", "alpha_dpg": "KL-DPG"}
KINDS |= {"rehearsal": "rehearsal"}


def numbers(records: Records) -> pd.DataFrame:
    """One row per run: the lost answers' share along it and along its flow, in coefficient times time.

    One factor scales the runs' time, steps times learning rate, to the flow's: the median ratio of half-way
    times. Half times are nan if half of the share never came back.
    """
    llama = records.llama
    runs = llama.runs_of(EXPERIMENT).set_index("digest")
    returns = pd.DataFrame([way for way in llama.ways_back if way["digest"] in runs.index])
    if returns.empty:
        allowed = f"a record of them; dph experiment small-llama --only {EXPERIMENT} makes it"
        raise argument_error("laws", "no ways back", allowed)
    flows = pd.DataFrame([llama.flows[flow] for flow in returns.flow]).add_prefix("flow_")
    fields = runs[["form", "beta", "learning_rate", "seed"]]
    frame = pd.concat([returns, flows], axis=1).join(fields, on="digest")
    factor = (frame.flow_half_time / frame.half_time).median()
    strength = frame.beta.where(frame.form != "alpha_dpg", 1.0)
    pace = strength * factor * frame.learning_rate / LENGTH
    courses = [llama.courses[digest] for digest in frame.digest]
    return frame.assign(
        kind=frame.form.map(KINDS),
        times=[p * np.array(course["step"]) for p, course in zip(pace, courses, strict=True)],
        shares=[np.array(course["lost_share"]) for course in courses],
        flow_times=[s * np.array(times) for s, times in zip(strength, frame.flow_times, strict=True)],
        half=strength * factor * frame.half_time,
        flow_half=strength * frame.flow_half_time,
    )


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """One panel per share: medians of runs with bands over all of them, the flow's prediction thick."""
    panels = sheet.panels(len(SHOWN), height=2.5, sharey=True)
    for axes, (collapsed, lost) in zip(panels, SHOWN, strict=True):
        shown = frame[(frame.flow_collapsed == collapsed) & (frame.flow_lost == lost)]
        for form, style in LOOKS.items():
            runs = shown[shown.form == form]
            times = min(runs.times, key=max)
            curves = zip(runs.times, runs.shares, strict=True)
            shares = np.array([np.interp(times, *curve) for curve in curves])
            axes.plot(times, np.median(shares, axis=0), **style | {"label": None, "linewidth": 0.7})
            band = {"color": style["color"], "alpha": 0.18, "linewidth": 0}
            axes.fill_between(times, shares.min(axis=0), shares.max(axis=0), **band)
            axes.plot(runs.flow_times.iloc[0], runs.flow_shares.iloc[0], **style | {"linewidth": 1.8})
        last = max(times[-1] for times in shown.times)
        axes.set(xlim=(0, last), yscale="log", xlabel=r"coefficient $\times$ time")
        axes.set_ylabel(f"lost answers' share\n({lost:g} left by {'training' if collapsed else 'a fit'})")
    sheet.legend([panels[0]], 3)


def table(frame: pd.DataFrame) -> Table:
    """Median delay of half recovery by penalties relative to rehearsal, and the runs that recover in time."""
    rows, kinds = [], dict.fromkeys(KINDS.values())
    for (collapsed, lost), group in frame.groupby(["flow_collapsed", "flow_lost"], sort=False):
        half = group.groupby("kind")[["half", "flow_half"]].median()
        late = [float(half.loc["penalties", name] / half.loc["rehearsal", name]) for name in half]
        halves = [group.half[group.kind == kind] for kind in kinds]
        back = [f"{half.count()} of {len(half)}" for half in halves]
        by = "training" if collapsed else "a fit"
        rows.append((lost, by, *(None if np.isnan(x) else x for x in late), *back))
    head = ("share at the start", "lost by", "times later, runs", "times later, flow")
    return Table.from_rows((*head, *(f"{kind} back" for kind in kinds)), rows)


def claim(frame: pd.DataFrame) -> bool:
    """Penalties recover later than rehearsal wherever both recover in time."""
    late = [x for row in table(frame).rows for x in row[2:4] if x is not None]
    return bool(late) and all(x > 1 for x in late if isinstance(x, float))
