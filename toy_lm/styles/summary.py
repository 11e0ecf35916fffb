"""What the runs say together: means over seeds with intervals, and the lead of the collapse meter."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dph_theory.intervals import mean_interval, probability_interval

from ..meter import lead_time

FALL = 0.05
"""How far Pass@16 on the training prompts must fall from its highest to count as fallen."""
RISES = (0.1, 0.25, 0.5)
"""How far the excess KL must rise, in nats, to count as a warning."""
MEASURES = (
    "pass@1",
    "pass@16",
    "pass@256",
    "style_entropy",
    "distinct_styles",
    "excess",
    "retention",
    "exploration",
)
PROBABILITIES = ("pass@1", "pass@16", "pass@256", "retention", "exploration")
"""Those of them whose intervals stay inside [0, 1]."""

Run = Mapping[str, Any]


def summary(results: Mapping[str, Any]) -> dict[str, Any]:
    """By label, each of MEASURES as {mean, low, high} over seeds on both splits; and the meter's record.

    The base is under the label "base". Intervals are at 95% (`dph_theory.intervals`). A measure
    that some seed lacks, such as exploration where the base solves everything, is over the seeds that have
    it, or None.
    """
    ends = {"base": [*results["bases"]]}
    for run in of_group(results, "main"):
        ends.setdefault(run["label"], []).append(run["end"])
    return {
        "methods": {
            label: {split: _measured(results, [end[split] for end in of]) for split in ("train", "held_out")}
            for label, of in ends.items()
        },
        "meter": [_warnings([*of_group(results, "main")], rise) for rise in RISES],
    }


def of_group(results: Mapping[str, Any], group: str) -> Iterable[Run]:
    """The runs that answer a question: main, strengths, places or long."""
    return (run for run in results["runs"] if group in run["groups"])


def pass_at(results: Mapping[str, Any], end: Mapping[str, Any], k: int) -> float:
    """Pass@k of an end, for a k that was measured."""
    return float(end["pass@k"][results["k"].index(k)])


def _measured(results: Mapping[str, Any], ends: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found = {}
    for name in MEASURES:
        k = name.removeprefix("pass@")
        values = [pass_at(results, end, int(k)) if k != name else end[name] for end in ends]
        known = [value for value in values if value is not None]
        found[name] = _interval(known, name in PROBABILITIES) if known else None
    return found


def _interval(values: Sequence[float], probabilities: bool) -> dict[str, float]:
    mean, low, high = (probability_interval if probabilities else mean_interval)(np.array(values))
    return {"mean": float(mean), "low": float(low), "high": float(high)}


def _warnings(runs: Sequence[Run], rise: float) -> dict[str, Any]:
    """At this rise: when each run was warned and when it fell, and how the two go together."""
    leads = []
    for run in runs:
        curve = run["curve"]
        found = lead_time(curve["update"], curve["excess"], curve["pass@16"], rise=rise, fall=FALL)
        leads.append(
            {
                "label": run["label"],
                "seed": run["seed"],
                "warned": found.meter_step,
                "fell": found.coverage_step,
                "lead": found.lead,
            }
        )
    fallen = [lead for lead in leads if lead["fell"] is not None]
    stood = [lead for lead in leads if lead["fell"] is None]
    return {
        "rise": rise,
        "fall": FALL,
        "runs": leads,
        "fallen": len(fallen),
        "warned_before": sum(lead["lead"] is not None and lead["lead"] > 0 for lead in fallen),
        "warned_at_once": sum(lead["lead"] == 0 for lead in fallen),
        "stood": len(stood),
        "false_alarms": sum(lead["warned"] is not None for lead in stood),
    }
