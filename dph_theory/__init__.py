"""Exact mathematics of reinforcement learning with binary rewards; imports neither torch nor transformers.

Convention: D_f(pi || ref) = E_ref[f(pi/ref)], policy first. Logs are natural. Leading axes are batches.
Accuracy: pass rates of stationary policies, and the nats they cost, are right to 1e-9 (nats: relative above
1) for base rates from 1e-9 to 1 - 1e-9 and beta from 1e-6; beyond, they are limits, and never nan. The names
are those of `__init__.pyi`, each loaded at its first use, so that commands answer at once.
"""

import importlib
import warnings
from typing import Any

import lazy_loader

_MOVED = {"grpo_round": "a11", "next_log_odds": "a11", "shared_pass_at_k": "d03", "trained_pass_at_k": "d03"}
"""What only statements use, by the file of theirs that has it: in the package itself no more from 0.2 on."""
_loaded, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        return _loaded(name)
    place = f"{__name__}.theorems.{_MOVED[name]}"
    warnings.warn(f"dph_theory.{name} goes in 0.2; it is {place}.{name}", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module(place), name)
