"""The exact expected value and gradient of a loss on a problem: one call per sequence, weighted by law."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..support.errors import argument_error
from .problems import Problem

Loss = Callable[..., Any]
ARGUMENTS = ("log_pi", "log_ref", "log_old", "advantages", "mask")


class LossError(Exception):
    """A loss that cannot be audited on a problem, and why."""


@dataclass(frozen=True)
class Measured:
    """Expected value, expected gradient in the logits (flattened), and the one-sample gradient's variance."""

    value: float
    gradient: Tensor
    variance: float
    scale: float
    """The largest norm of a one-sample gradient: against it a vanishing mean is told."""


def arguments_of(loss: Loss) -> tuple[str, ...]:
    """Which of the audited arguments the loss takes.

    Raises ValueError if it needs others, or does not take log_pi.
    """
    parameters = inspect.signature(loss).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return ARGUMENTS
    required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    for name in required:
        if name not in ARGUMENTS:
            raise argument_error(
                "loss parameter", name, f"any of {', '.join(ARGUMENTS)}, or one with a default"
            )
    named = tuple(p.name for p in parameters if p.name in ARGUMENTS)
    if "log_pi" not in named:
        raise argument_error("loss parameters", named, "log_pi must be among them")
    return named


def call(loss: Loss, given: dict[str, Tensor]) -> Tensor:
    """The loss of a batch as a checked scalar; LossError says what is wrong with it."""
    try:
        value = loss(**given)
    except Exception as error:
        raise LossError(f"it raised {type(error).__name__}: {error}") from error
    if not isinstance(value, Tensor) or value.ndim != 0:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise LossError(f"it returned {shape}, not a scalar tensor")
    if value.isnan():
        raise LossError("it returned nan")
    if not value.requires_grad:
        raise LossError("its result does not depend on log_pi")
    return value


def batch(problem: Problem, logits: Tensor, source: str, names: tuple[str, ...]) -> dict[str, Tensor]:
    """The named tensors (sequences, tokens) that the loss is given; all but log_pi are detached.

    On policy samples the old policy is the policy. The advantage is v less its mean over the samples. A loss
    that takes a mask gets masked tokens too, as many as the vocabulary decides, which must not matter.
    """
    log_pi = problem.log_probs(logits)
    law = problem.samples(source)
    old = problem.log_probs(problem.old) if source == "old_policy" else log_pi.detach()
    advantage = problem.valid - (law * problem.valid).sum()
    given = {
        "log_pi": log_pi,
        "log_ref": problem.log_probs(problem.reference),
        "log_old": old,
        "advantages": advantage[:, None].expand_as(log_pi).clone(),
        "mask": torch.ones_like(log_pi),
    }
    if "mask" in names:
        count = 1 + problem.vocabulary % 3
        # What stands under the mask moves with the logits: a loss that looks there shows it.
        noise = (3 * log_pi[:, :1] - 2).expand(-1, count)
        other = torch.full_like(noise, -1.0)
        under = {"log_pi": noise, "log_ref": other, "log_old": noise.detach(), "advantages": other}
        under["mask"] = torch.zeros_like(other)
        given = {name: torch.cat([tensor, under[name]], dim=1) for name, tensor in given.items()}
    return {name: given[name] for name in names}


def single_losses(loss: Loss, given: dict[str, Tensor], law: Tensor) -> list[Tensor]:
    """The loss of each sequence in a batch of its own (zero where the law never samples it)."""
    return [
        call(loss, {name: tensor[i : i + 1] for name, tensor in given.items()})
        if law[i] > 0
        else torch.zeros((), dtype=law.dtype)
        for i in range(len(law))
    ]


def measure(loss: Loss, names: tuple[str, ...], problem: Problem, source: str) -> Measured:
    """E[loss] and E[gradient] with the samples held fixed, exactly; raises LossError."""
    logits = problem.policy.clone().requires_grad_()
    law = problem.samples(source)
    values = single_losses(loss, batch(problem, logits, source, names), law)
    gradients = []
    for value, weight in zip(values, law, strict=True):
        if weight > 0:
            (gradient,) = torch.autograd.grad(value, logits, retain_graph=True, allow_unused=True)
            if gradient is None:
                raise LossError("its result does not depend on log_pi")
            if gradient.isnan().any():
                raise LossError("its gradient is nan")
            gradients.append(gradient.flatten())
        else:
            gradients.append(torch.zeros(logits.numel(), dtype=law.dtype))
    stacked = torch.stack(gradients)
    mean = law @ stacked
    total = float((law * torch.stack([v.detach().double() for v in values])).sum())
    variance = float(law @ ((stacked - mean) ** 2).sum(dim=-1))
    return Measured(total, mean, variance, float(stacked.norm(dim=-1).max()))


def is_random(loss: Loss, names: tuple[str, ...], problem: Problem, source: str) -> bool:
    """Whether two evaluations of the same batch differ."""
    given = batch(problem, problem.policy.clone().requires_grad_(), source, names)
    first, second = (call(loss, given).detach() for _ in range(2))
    return bool(first != second)
