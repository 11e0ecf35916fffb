"""The meaning of a loss's parameters, from their names: log-probabilities of whom, advantages, the mask."""

import inspect
from collections.abc import Callable
from typing import Any

from ..support.errors import argument_error

Loss = Callable[..., Any]
ARGUMENTS = ("log_pi", "log_ref", "log_old", "advantages", "mask")
SAMPLER = "log_rollout"
"""Log-probabilities of the sampler, if a loss also takes those of an old policy, which then is the policy
itself, detached, as at the first update on a batch.
"""
TAKEN = (
    f"any of {', '.join(ARGUMENTS)}, {SAMPLER}, or of names that mean one, as old_log_probs: what is audited "
    "is a function of the sampled tokens' log-probabilities, so no divergence summed over the vocabulary, as "
    "in distillation"
)
"""Arguments that a loss may take."""
_LOG = {"log", "logs", "logp", "logps", "logprob", "logprobs", "logpi"}
_PLAIN = {"pi", "theta", "p", "prob", "probs", "per", "token", "new", "cur", "curr", "current"}
_PLAIN |= {"policy", "actor"}
_WHOSE = {
    "log_ref": {"ref", "reference"},
    "log_old": {"old", "prev", "previous"},
    SAMPLER: {"rollout", "sampler", "sampling", "generation", "behavior", "behaviour", "vllm", "inference"},
}
"""Words of a parameter's name: for logarithms, without meaning, and for whose they are."""


def _meaning(name: str) -> str | None:
    """Meaning of a parameter's name, one of ARGUMENTS or SAMPLER (old_log_probs: log_old); else None."""
    words = set(name.lower().split("_"))
    if name in (*ARGUMENTS, SAMPLER):
        return name
    if "mask" in words:
        return "mask"
    if words & {"advantage", "advantages", "adv", "advs"}:
        return "advantages"
    whose = words - _LOG - _PLAIN
    named = [argument for argument, roles in _WHOSE.items() if whose and whose <= roles]
    return (named[0] if named else None if whose else "log_pi") if words & _LOG else None


def meanings_of(loss: Loss) -> dict[str, str]:
    """Meaning of each parameter that a loss needs, one of ARGUMENTS or SAMPLER, by its name.

    A parameter with a default counts if it has just that name.

    Raises:
        ValueError: If a parameter is unknown, two mean the same, or none is log_pi.
    """
    try:
        parameters = inspect.signature(loss).parameters.values()
    except (TypeError, ValueError) as error:
        raise argument_error("loss", loss, f"a function of {TAKEN}") from error
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return {name: name for name in ARGUMENTS}
    meanings: dict[str, str] = {}
    for p in parameters:
        meaning = _meaning(p.name) if p.default is p.empty or p.name in ARGUMENTS else None
        if meaning in meanings.values():
            raise argument_error("loss parameter", p.name, f"two of them mean {meaning}: {TAKEN}")
        if meaning is not None:
            meanings[p.name] = meaning
        elif p.default is p.empty and p.kind is not p.VAR_POSITIONAL:
            raise argument_error("loss parameter", p.name, f"{TAKEN}, or one with a default")
    if "log_pi" not in meanings.values():
        raise argument_error("loss parameters", tuple(meanings), "log_pi must be among them")
    return meanings


def arguments_of(loss: Loss) -> tuple[str, ...]:
    """Names in ARGUMENTS that a loss takes, under whatever name; errors as in `meanings_of`."""
    meanings = [meaning.replace(SAMPLER, "log_old") for meaning in meanings_of(loss).values()]
    return tuple(name for name in ARGUMENTS if name in meanings)
