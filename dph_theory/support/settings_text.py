"""Text of a stored run's settings, written from its fields and never parsed."""

from collections.abc import Mapping
from typing import Any

_WORDS = {
    "k2": "k2",
    "k3_corrected": "k3 with importance weight",
    "reward": "KL in the reward",
    "adam": "Adam",
    "sgd": "SGD",
}
"""k3 without importance weight, GRPO's own, is not named."""


def settings_text(run: Mapping[str, Any]) -> str:
    """Words for a run's method, KL form, coefficient, and unusual optimiser settings."""
    optimiser, rate, rank, anchors = (run[name] for name in ("optimiser", "learning_rate", "rank", "anchors"))
    words = [run["method"], "anchored" if anchors else "", _WORDS.get(run["kl"], "")]
    words.append(f"{run['coefficient']:g}" if run["coefficient"] else "")
    if optimiser != "adam" or (rank is None and rate != 1e-5):
        words.append(f"{_WORDS.get(optimiser, optimiser)} {rate:g}")
    if rank is not None:
        words.append(f"LoRA {rank:g}")
    if anchors:
        answers = "" if run["answers"] is None else f" of {run['answers']:g} answers"
        words.append(f"{anchors:g} {run['picked']}{answers}")
    words.append(run.get("model") or "")
    if run["measured_after"]:
        words.append(f"kernel after {run['measured_after']:g} steps")
    return ", ".join(word for word in words if word)
