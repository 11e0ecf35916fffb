"""The file of what stored runs retain and how far forecasts of them were off, which `dph predict` shows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory.checkpoints import matched, read_counts
from dph_theory.coverage import exact_pass_at_k, pass_at_k
from figures.frames import Records
from figures.gallery import transfer

FILE = Path("dph_theory/predict/measured.json")
TASK, HELD_OUT, K = "last digits", ", held out", 256
PARAMETERS = 134_515_008
KINDS = {"k3": "forward", "k2": "reverse", "k3_corrected": "reverse"}
"""Of which kind a form of the KL is."""


def text(records: Records) -> str:
    """The file's text: a row a method and strength, one of the SQL task's two counts, forecasts' errors."""
    found = {"runs": [*_pretrained(records), _sql()], "errors": _errors(records)}
    return json.dumps(found, indent=1) + "\n"


def _errors(records: Records) -> dict[str, Any]:
    """How far forecasts of held-out Pass@K were off: the methods' rms, and with prompts held their mean."""
    numbers = transfer.numbers(records)
    settings = numbers["settings"]
    anchored = settings[(settings.anchors > 0) & (settings.task == TASK)]
    error = anchored[f"forecast {K}"] - anchored[f"measured {K}"]
    return {"model": "SmolLM2-135M", "k": K, "rms": round(transfer.agreement(numbers)["rms"], 3),
            "settings": len(transfer.methods(numbers)), "held": round(float(error.mean()), 3),
            "held_settings": len(anchored)}  # fmt: skip


def _pretrained(records: Records) -> list[dict[str, Any]]:
    results = records.results("pretrained")
    groups: dict[tuple[str, str, float], list[Mapping[str, Any]]] = {}
    for outcome in results["runs"]:
        run = outcome["run"]
        if run["experiment"] == "methods":
            groups.setdefault((run["method"], run["kl"], run["coefficient"]), []).append(outcome["tasks"])
    rows = []
    for (method, form, coefficient), ends in groups.items():
        sides = {}
        for name, task in (("trained", TASK), ("held_out", TASK + HELD_OUT)):
            base = [_passed(results["base"], task, k) for k in (1, K)]
            end = [round(float(np.mean([_passed(end, task, k) for end in ends])), 3) for k in (1, K)]
            sides[name] = {"base": base, "end": end}
        rows.append({"model": "SmolLM2-135M", "parameters": PARAMETERS, "task": "last digits of products",
                     "method": method, "form": form, "kl": _kind(method, form), "strength": coefficient,
                     "seeds": len(ends), "k": K, **sides})  # fmt: skip
    return rows


def _kind(method: str, form: str) -> str:
    """What of a method keeps the policy near the base: a KL of which kind, a rehearsal, a target, or none."""
    other = {"KL-DPG": "target", "DPH-F": "rehearsal", "DPH-JS": "rehearsal", "DPH-alpha": "rehearsal"}
    return KINDS.get(form) or other.get(method, "none")


def _passed(policy: Mapping[str, Any], task: str, k: int) -> float:
    rates = np.minimum(policy[task]["validity"], 1.0)
    return round(float(exact_pass_at_k(rates, np.asarray(k)).mean()), 3)


def _sql() -> dict[str, Any]:
    folder = Path(__file__).parents[1] / "examples" / "counts"
    pairs = matched(read_counts(folder / "base.jsonl"), read_counts(folder / "grpo.jsonl")).counts
    sides = ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))
    now, then = ([round(float(pass_at_k(n, c, k).mean()), 3) for k in (1, 32)] for n, c in sides)
    return {"model": "a small Llama", "parameters": 0, "task": "the built-in SQL task", "method": "GRPO",
            "form": "none", "kl": "none", "strength": 0.0, "seeds": 1, "k": 32,
            "held_out": {"base": now, "end": then}}  # fmt: skip
