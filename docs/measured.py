"""The file of what stored runs retain and how far forecasts of them were off, which `dph predict` shows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dph_theory.checkpoints import matched, read_counts
from dph_theory.coverage import exact_pass_at_k, pass_at_k
from dph_theory.divergences import FORWARD_KL, REVERSE_KL
from dph_theory.predict.shared_model import forecast, lost
from dph_theory.transfer import AnswerKernel, LinearisedMethod
from dph_theory.transfer.training import HOLDS_TO
from figures.frames import Records
from figures.gallery import divisors, transfer

FILE = Path("dph_theory/predict/measured.json")
TASK, HELD_OUT, K, STEPS = "last digits", ", held out", 256, 20
PARAMETERS = 134_515_008
KINDS = {"k3": "forward", "k2": "reverse", "k3_corrected": "reverse"}
"""Of which kind a form of the KL is."""
EXAMPLES, NUMBERS = (Path(__file__).parents[1] / name for name in ("examples", "figures/numbers"))
DIVERGENCES = {"forward": FORWARD_KL, "reverse": REVERSE_KL}


def text(records: Records) -> str:
    """The file's text: a row a method and strength, one of the SQL task's two counts, forecasts' errors."""
    errors = _errors(records) | _names(records)
    return (
        json.dumps(
            {"runs": [*_pretrained(records), *_divided_by_mean(records), _sql()], "errors": errors}, indent=1
        )
        + "\n"
    )


def _errors(records: Records) -> dict[str, Any]:
    """How far forecasts of held-out Pass@K before runs were off: by their first step, and with anchors."""
    settings = transfer.numbers(records)["settings"]
    anchored = settings[(settings.anchors > 0) & (settings.task == TASK)]
    error = anchored[f"forecast {K}"] - anchored[f"measured {K}"]
    domain = json.loads((NUMBERS / "pilot.json").read_text(encoding="utf-8"))["results"]["domain"]
    within, beyond = (
        [row for row in domain if (row["from"] >= HOLDS_TO) == farther] for farther in (False, True)
    )
    sides = {"within": _side(within), "beyond": _side(beyond)}
    return sides | {"constrained": round(float(error.mean()), 3)}


def _side(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Errors at K, the last k, over the settings of all rows."""
    count = sum(row["settings"] for row in rows)
    square = sum(row["settings"] * row["rms"][-1] ** 2 for row in rows) / count
    models = {name for row in rows for name in row["models"]}
    right, moved = (sum(row[name][-1] for row in rows) for name in ("right", "moved"))
    return {
        "models": len(models),
        "settings": count,
        "rms": round(square**0.5, 3),
        "right": right,
        "moved": moved,
    }


def _names(records: Records) -> dict[str, int]:
    """How many held-out prompts forecasts named as lost, how many of them were, and how many were lost."""
    results, kernel = records.results("pretrained"), AnswerKernel.load(EXAMPLES / "transfer" / "kernel.npz")
    base = np.minimum(results["base"][TASK + HELD_OUT]["validity"], 1.0)
    names = np.array(kernel.names)[kernel.prompts_in("held out")]
    counts = np.zeros(3, int)
    for (method, form, coefficient, steps), ends in _methods(records).items():
        if (kind := _kind(method, form)) not in ("none", *DIVERGENCES):
            continue
        linearised = LinearisedMethod(_scale(method), 16, coefficient, DIVERGENCES.get(kind))
        training = {"steps": steps, "learning_rate": 1e-5, "k": K, "frontier": False}
        named = set(forecast(kernel, linearised, **training).lost)
        for end in ends:
            gone = {*names[lost(base, np.minimum(end[TASK + HELD_OUT]["validity"], 1.0), K)]}
            counts += len(named), len(named & gone), len(gone)
    return dict(zip(("named", "named_lost", "lost"), counts.tolist(), strict=True))


def _methods(records: Records) -> dict[tuple[str, str, float, int], list[Mapping[str, Any]]]:
    """The ends of the runs of each method, form of the KL, coefficient and length."""
    groups: dict[tuple[str, str, float, int], list[Mapping[str, Any]]] = {}
    for outcome in records.results("pretrained")["runs"]:
        run = outcome["run"]
        if run["experiment"] == "methods":
            fields = run["method"], run["kl"], run["coefficient"], run["steps"]
            groups.setdefault(fields, []).append(outcome["tasks"])
    return groups


def _scale(method: str) -> str:
    return "none" if method == "Dr. GRPO" else "std"


def _pretrained(records: Records) -> list[dict[str, Any]]:
    results, rows = records.results("pretrained"), []
    for (method, form, coefficient, steps), ends in _methods(records).items():
        sides = {}
        for name, task in (("trained", TASK), ("held_out", TASK + HELD_OUT)):
            base = [_passed(results["base"], task, k) for k in (1, K)]
            end = [round(float(np.mean([_passed(end, task, k) for end in ends])), 3) for k in (1, K)]
            sides[name] = {"base": base, "end": end}
        rows.append(_row(method, _scale(method), form, coefficient, steps, len(ends)) | sides)
    return rows


def _divided_by_mean(records: Records) -> list[dict[str, Any]]:
    """MaxRL after as many steps as the other methods, from its courses."""
    courses = pd.DataFrame(records.results("pretrained")["advantages"]).fillna({"model": "", "rates": ""})
    courses = courses[(courses.method == "MaxRL") & (courses.group == 16)]
    rows = []
    for (form, coefficient), runs in divisors.usual(courses).groupby(["kl", "coefficient"]):
        sides = {}
        for name in ("trained", "held_out"):
            points = np.array([*runs[name]])[..., [0, -1]].mean(axis=0).round(3)
            sides[name] = {
                "base": points[0].tolist(),
                "end": points[runs.steps.iloc[0].index(STEPS)].tolist(),
            }
        rows.append(_row("MaxRL", "mean", form, coefficient, STEPS, len(runs)) | sides)
    return rows


def _row(method: str, scale: str, form: str, strength: float, steps: int, seeds: int) -> dict[str, Any]:
    """What stored runs of the pretrained Llama have in common."""
    setting = {
        "method": method,
        "scale": scale,
        "form": form,
        "kl": _kind(method, form),
        "strength": strength,
    }
    model = {"model": "SmolLM2-135M", "parameters": PARAMETERS, "task": "last digits of products"}
    return model | setting | {"strength": strength, "steps": steps, "seeds": seeds, "k": K}


def _kind(method: str, form: str) -> str:
    """What of a method keeps the policy near the base: a KL of which kind, a rehearsal, a target, or none."""
    other = {"KL-DPG": "target", "DPH-F": "rehearsal", "DPH-JS": "rehearsal", "DPH-alpha": "rehearsal"}
    return KINDS.get(form) or other.get(method, "none")


def _passed(policy: Mapping[str, Any], task: str, k: int) -> float:
    rates = np.minimum(policy[task]["validity"], 1.0)
    return round(float(exact_pass_at_k(rates, np.asarray(k)).mean()), 3)


def _sql() -> dict[str, Any]:
    base, run = (read_counts(EXAMPLES / "counts" / f"{name}.jsonl") for name in ("base", "grpo"))
    pairs = matched(base, run).counts
    sides = ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))
    now, then = ([round(float(pass_at_k(n, c, k).mean()), 3) for k in (1, 32)] for n, c in sides)
    return {"model": "a small Llama", "parameters": 0, "task": "the built-in SQL task", "method": "GRPO",
            "scale": "std", "form": "none", "kl": "none", "strength": 0.0, "steps": None, "seeds": 1, "k": 32,
            "held_out": {"base": now, "end": then}}  # fmt: skip
