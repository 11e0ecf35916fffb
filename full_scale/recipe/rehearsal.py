"""The rehearsal loss that a trainer's arguments select, and its target pass rate."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dph_theory import FORWARD_KL, alpha_divergence
from dph_theory.divergences import named
from dph_theory.fdivergence import FDivergence

from .settings import SETTINGS

if TYPE_CHECKING:
    import torch

DEFINITION = "definition"  # Form of rehearsal whose divergence is computed on the policy's own samples.
RELEASED: tuple[str, ...] = ("released_forward", "released_js", "released_alpha")
"""Rehearsal losses of the authors' release: functions of (log pi, log ref, mask), averaged over tokens."""


def declared(arguments: Mapping[str, Any]) -> FDivergence:
    """Divergence that the arguments name."""
    name = arguments["divergence"]
    return named(name) if name != "alpha" else alpha_divergence(arguments["alpha"] or 0)


def rehearses(arguments: Mapping[str, Any]) -> bool:
    """Return true if stored samples are rehearsed; the definition form uses the policy's samples instead."""
    return arguments.get("eta", 0) > 0 and arguments.get("rehearsal_form") != DEFINITION


def rehearsal_loss(
    arguments: Mapping[str, Any], log_pi: "torch.Tensor", log_ref: "torch.Tensor", mask: "torch.Tensor"
) -> "torch.Tensor":
    """Rehearsal loss, a scalar, of log_pi, log_ref, mask (rows, tokens), by a generator or the release."""
    from dph_theory import losses

    if (form := arguments["rehearsal_form"]) in RELEASED:
        return getattr(losses, form)(log_pi, log_ref, mask)
    options = {name: arguments[f"rehearsal_{name}"] for name in ("level", "reduction")}
    divergence, gauge = declared(arguments), arguments["gauge"]
    return losses.generator_loss(divergence, log_pi - log_ref, mask, gauge=gauge, **options)


def rehearsal_target(arguments: Mapping[str, Any]) -> str | None:
    """Target pass rate of a rehearsal of correct samples: "one", "base", or neither (None).

    The slope of the trainer's own loss at u = 1 decides: slope 0 retains the base's pass rate. Entries:
    `rehearsal_gauge`.
    """
    given = {**SETTINGS, **arguments}
    if not rehearses(given):
        return None
    import torch  # The import takes seconds; only rehearsing methods need it.

    log_pi = torch.zeros(1, 1, dtype=torch.float64, requires_grad=True)
    rehearsal_loss(given, log_pi, torch.zeros_like(log_pi), torch.ones(1, 1, dtype=torch.bool)).backward()
    if log_pi.grad is None or log_pi.grad.abs().max() < 1e-12:
        return "base"
    plain = given["rehearsal_form"] == "generator" and given["gauge"] in ("printed", 0)
    return "one" if plain and declared(given) == FORWARD_KL else None
