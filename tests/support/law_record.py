"""A small record of the laws of training, as `dph laws` stores it."""

from dph_theory.support.record import record
from figures.records import LAWS

_OWN = {"k3": 0, "k3_corrected": 1, "k2": 1, "sequence_kl": 2, "future_kl": 2}


def run(form, beta=0.2, **facts):
    """A run on the two-token task that ends near its own law, of validity .9 and first share .6."""
    law = LAWS[_OWN[form]] if form in _OWN else None
    known = {"experiment": "which_law", "task": "selection-2", "form": form, "beta": beta, "seed": 0}
    known |= {"steps": 250, "learning_rate": 2e-3, "dapo": False, "effective_answers": 1.4, "pass_at_16": 1.0}
    known |= {"scale": "none", "group_size": 128, "groups": 1, "optimiser": "adam", "constant": False}
    known |= {"baseline": "mean", "updates": 1}
    verdict = facts.get("verdict", "held" if law else "no law")
    ended = {"validity": 0.91, "first_share": 0.62, "verdict": verdict, "full_verdict": verdict}
    predicted = {"law_validity": 0.9 if law else None, "law_first_share": 0.6 if law else None}
    apart = {f"kl {name}": (0.001 if name == law else 0.3) if law else None for name in LAWS}
    held = {"law": law, "judged": law is not None, "nearest": law}
    return known | ended | predicted | apart | held | {"digest": f"{form} {beta}"} | facts


def law_record(rows, courses=(), ways=(), flows=()):
    """The record of those runs."""
    columns = {name: [r.get(name) for r in rows] for row in rows for name in row}
    planned = [{"experiment": name, "planned": 84} for name in {r["experiment"]: None for r in rows}]
    results = {"experiments": planned, "runs": columns, "courses": list(courses)}
    results |= {"ways_back": list(ways), "flows": list(flows)}
    return record("laws", seed=0, config={}, results=results, findings=["1 of 1 runs held."])
