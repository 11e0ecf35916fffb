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
KINDS = {
    "GRPO": "forward",
    "GRPO, k2": "reverse",
    "GRPO, corrected k3": "reverse",
    "DPH-F": "rehearsal",
    "DPH-JS": "rehearsal",
    "DPH-alpha": "rehearsal",
    "KL-DPG": "target",
}
"""What of the stored methods is a KL of which kind, a rehearsal, or a target."""


def text(records: Records) -> str:
    """The file's text: a row a method and strength, one of the SQL task's two counts, forecasts' errors."""
    found = {"runs": [*_pretrained(records), _sql()], "errors": _errors(records)}
    return json.dumps(found, indent=1) + "\n"


def _errors(records: Records) -> dict[str, Any]:
    """How far forecasts of held-out Pass@K were off: the methods' rms, and with prompts held their mean."""
    found = transfer.numbers(records)
    held = found["settings"][found["settings"].setting.str.contains(", anchored,")]
    held = held[held.task == TASK]
    error = held[f"forecast {K}"] - held[f"found {K}"]
    return {"model": "SmolLM2-135M", "k": K, "rms": round(transfer.agreement(found)["rms"], 3),
            "settings": len(transfer.methods(found)), "held": round(float(error.mean()), 3),
            "held_settings": len(held)}  # fmt: skip


def _pretrained(records: Records) -> list[dict[str, Any]]:
    results = records.results("pretrained")
    groups: dict[tuple[str, float], list[Mapping[str, Any]]] = {}
    for each in results["runs"]:
        run = each["run"]
        if run["experiment"] == "methods":
            groups.setdefault((run["form"], run["beta"]), []).append(each["tasks"])
    found = []
    for (method, strength), ends in groups.items():
        sides = {}
        for name, task in (("trained", TASK), ("held_out", TASK + HELD_OUT)):
            now = [_passed(results["base"], task, k) for k in (1, K)]
            then = [round(float(np.mean([_passed(end, task, k) for end in ends])), 3) for k in (1, K)]
            sides[name] = {"base": now, "end": then}
        kind = KINDS.get(method, "none") if strength or method == "KL-DPG" else "none"
        found.append({"model": "SmolLM2-135M", "parameters": PARAMETERS, "task": "last digits of products",
                      "method": method, "kl": kind, "strength": strength, "seeds": len(ends), "k": K,
                      **sides})  # fmt: skip
    return found


def _passed(policy: Mapping[str, Any], task: str, k: int) -> float:
    rates = np.minimum(policy[task]["validity"], 1.0)
    return round(float(exact_pass_at_k(rates, np.asarray(k)).mean()), 3)


def _sql() -> dict[str, Any]:
    folder = Path(__file__).parents[1] / "examples" / "counts"
    pairs = matched(read_counts(folder / "base.jsonl"), read_counts(folder / "grpo.jsonl")).counts
    sides = ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))
    now, then = ([round(float(pass_at_k(n, c, k).mean()), 3) for k in (1, 32)] for n, c in sides)
    return {"model": "a small Llama", "parameters": 0, "task": "the built-in SQL task", "method": "GRPO",
            "kl": "none", "strength": 0.0, "seeds": 1, "k": 32,
            "held_out": {"base": now, "end": then}}  # fmt: skip
