"""A stored run's settings in the words that people read: written from its fields, never read back."""

from collections.abc import Mapping
from typing import Any

_KL_WORDS = {"k2": "k2", "k3_corrected": "corrected k3", "reward": "KL in the reward"}
"""Plain k3, GRPO's own, is not named."""
_OPTIMISERS = {"adam": "Adam", "sgd": "SGD"}
USUAL_RATE = 1e-5
"""Of Adam on all weights."""


def settings_text(settings: Mapping[str, Any]) -> str:
    """The method, the form of its KL and its coefficient, and what else is not as usual."""
    optimiser, rate, rank = (settings[name] for name in ("optimiser", "learning_rate", "rank"))
    words = [settings["method"]]
    if settings["anchors"]:
        words.append("anchored")
    if settings["kl"] in _KL_WORDS:
        words.append(_KL_WORDS[settings["kl"]])
    if settings["coefficient"]:
        words.append(f"{settings['coefficient']:g}")
    if optimiser != "adam" or (rank is None and rate != USUAL_RATE):
        words.append(f"{_OPTIMISERS.get(optimiser, optimiser)} {rate:g}")
    if rank is not None:
        words.append(f"LoRA {rank:g}")
    if settings["anchors"]:
        answers = "" if settings["answers"] is None else f" of {settings['answers']:g} answers"
        words.append(f"{settings['anchors']:g} {settings['picked']}{answers}")
    if settings["measured_after"]:
        words.append(f"kernel after {settings['measured_after']:g} steps")
    return ", ".join(words)
