"""Calls of a loss: its checked value, and its exact expected value and gradient on a problem."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from .argument_names import SAMPLER, Loss, arguments_of, meanings_of
from .problem import Problem
from .report import Finding

LossInputs = dict[str, Tensor]
CALLS = 100
"""Evaluations of one batch: a loss that differs in a tenth of its calls passes once in 37,000."""


class LossError(Exception):
    """Raised when a loss cannot be audited on a problem; the message says why."""


@dataclass(frozen=True)
class ExpectedLoss:
    """Expected value and gradient in the logits (flattened)."""

    problem: Problem
    samples: str
    value: float
    gradient: Tensor
    scale: float
    """Largest norm of a batch's gradient, against which a mean counts as vanishing."""


@dataclass(frozen=True)
class Audited:
    """A loss that is called with all of ARGUMENTS, of which it takes `names`, and its first findings."""

    loss: Loss
    names: tuple[str, ...]
    samples: str = "policy"
    precision: str = "float64"
    reduction: Finding | None = None

    @classmethod
    def from_function(cls, loss: Loss, samples: str = "policy") -> "Audited":
        """Wrap a torch loss; `samples` is one of SAMPLES; errors as in `meanings_of`."""
        meanings = meanings_of(loss)
        names = arguments_of(loss)

        def first(**inputs: Tensor) -> Any:
            if SAMPLER in meanings.values():
                old = inputs["log_pi"].detach() if "log_old" in meanings.values() else inputs["log_old"]
                inputs = {**inputs, SAMPLER: inputs["log_old"], "log_old": old}
            value = loss(**{name: inputs[meaning] for name, meaning in meanings.items()})
            # What a trainer logs may stand beside the loss.
            return value[0] if isinstance(value, tuple) and value else value

        return cls(first, names, samples)

    @property
    def in_float32(self) -> bool:
        """True if the loss computes in float32, so that agreement is judged at that precision."""
        return self.precision == "float32"

    @property
    def batch_reduction(self) -> str:
        """Reduction over the answers of a batch; "unknown" if the audit could not find it."""
        return "unknown" if self.reduction is None else str(self.reduction.batch)

    def with_inputs(self, **changes: Callable[[LossInputs], Tensor]) -> "Audited":
        """Return the loss with the named inputs replaced by functions of all inputs."""

        def loss(**inputs: Tensor) -> Any:
            changed = {name: change(inputs) for name, change in changes.items()}
            # What is left may not depend on the policy any more: its slope then is zero.
            return self.loss(**{**inputs, **changed}) + 0 * inputs["log_pi"].sum()

        return replace(self, loss=loss)

    def at_zero_advantages(self) -> "Audited":
        """Return the loss with all advantages set to zero, as in groups of equal rewards."""
        return self.with_inputs(advantages=lambda inputs: 0 * inputs["advantages"])

    def __sub__(self, other: "Audited") -> "Audited":
        """Return the difference of two losses on the same batch."""
        return replace(self, loss=lambda **inputs: self.loss(**inputs) - other.loss(**inputs))

    def value(self, inputs: LossInputs) -> Tensor:
        """Loss of a batch, a scalar; LossError if it raises, changes its inputs or returns no scalar."""
        before = {name: inputs[name]._version for name in self.names}
        try:
            value = self.loss(**inputs)
        except Exception as error:
            raise LossError(f"it raised {_in_one_line(error)}") from error
        for name, version in before.items():
            if inputs[name]._version != version:
                raise LossError(f"it changes its argument {name} in place")
        if not isinstance(value, Tensor) or value.ndim != 0:
            shape = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else None
            raise LossError(f"it returned {shape or type(value).__name__}, not a scalar tensor")
        if value.is_complex():
            raise LossError("it returned a complex number")
        if value.isnan():
            raise LossError("it returned nan")
        if not value.requires_grad:
            raise LossError("its result does not depend on log_pi")
        return value

    def slope(self, inputs: LossInputs, *, finite: bool = True) -> tuple[float, Tensor]:
        """Loss of a batch and gradient in log_pi, (answers, tokens); LossError unless that is `finite`."""
        value = self.value(inputs)
        try:
            (slope,) = torch.autograd.grad(value, inputs["log_pi"], allow_unused=True)
        except Exception as error:
            raise LossError(f"its gradient raised {_in_one_line(error)}") from error
        if slope is None:
            raise LossError("its result does not depend on log_pi")
        if finite and not slope.isfinite().all():
            row, place = torch.nonzero(~slope.isfinite())[0].tolist()
            values = {name: float(inputs[name][row, place].detach()) for name in self.names if name != "mask"}
            at = ", ".join(f"{name} = {number:.4g}" for name, number in values.items())
            kind = "nan" if slope[row, place].isnan() else "infinite"
            raise LossError(f"its gradient is {kind} at a token where {at}")
        return float(value.detach()), slope

    def batch(self, problem: Problem, logits: Tensor | None = None) -> LossInputs:
        """All sequences of a problem, (sequences, tokens), at these logits, by default the policy's.

        All inputs but log_pi are detached. On policy samples the old policy is the policy. The advantage is v
        minus its mean. A loss that takes a mask also gets masked tokens, which must not matter.
        """
        log_pi = problem.log_probs(problem.policy.clone().requires_grad_() if logits is None else logits)
        old = problem.log_probs(problem.old) if self.samples == "old_policy" else log_pi.detach()
        advantage = problem.valid - (problem.sample_distribution(self.samples) * problem.valid).sum()
        inputs = {
            "log_pi": log_pi,
            "log_ref": problem.log_probs(problem.reference),
            "log_old": old,
            "advantages": advantage[:, None].expand_as(log_pi).clone(),
            "mask": problem.mask,
        }
        return padded(inputs, problem.padding) if "mask" in self.names else inputs

    def rows(self, inputs: LossInputs, chosen: Sequence[int], problem: Problem) -> LossInputs:
        """Select sequences of a batch by index; without a mask their padding is cut off."""
        places = list(chosen)
        width = inputs["log_pi"].shape[1] if "mask" in self.names else int(problem.lengths[places].max())
        return {name: tensor[places, :width] for name, tensor in inputs.items()}

    def weights(self, problem: Problem, *, undivided: bool = False) -> Tensor:
        """Factors (sequences,) that undo a division by the padded length, or (`undivided`) by all tokens."""
        if undivided and self.batch_reduction == "token mean":
            return problem.lengths
        divides = self.reduction is not None and self.reduction.padding == "divides by the padded length"
        return torch.full_like(problem.lengths, problem.length + problem.padding if divides else 1)

    def measure(self, problem: Problem, *, size: int = 1, undivided: bool = False) -> ExpectedLoss:
        """Expected loss and logit gradient over all batches of `size` samples; raises LossError."""
        weights = self.weights(problem, undivided=undivided)
        distribution = problem.sample_distribution(self.samples)
        inputs, jacobian = self.batch(problem), problem.jacobian
        if "mask" in self.names:
            # Under the mask stands what moves thrice as much as the first token, as `padded` has it.
            jacobian = pad(jacobian, (0, 0, 0, problem.padding))
            jacobian = torch.where(inputs["mask"][..., None] == 0, 3 * jacobian[:, :1], jacobian)
        chances, values, gradients = [], [], []
        for chosen in product([i for i in range(len(distribution)) if distribution[i] > 0], repeat=size):
            places = list(chosen)
            value, slope = self.slope(self.rows(inputs, places, problem))
            factor = float(weights[places].prod())
            chances.append(math.prod(float(distribution[i]) for i in places))
            values.append(factor * value)
            gradients.append(factor * torch.einsum("yt,ytp->p", slope, jacobian[places, : slope.shape[1]]))
        chance, stacked = torch.tensor(chances, dtype=distribution.dtype), torch.stack(gradients)
        mean = chance @ stacked
        total = float(chance @ torch.tensor(values, dtype=distribution.dtype))
        largest = float(stacked.norm(dim=-1).max())
        return ExpectedLoss(problem, self.samples, total, mean, largest)


def _in_one_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    message = f"{type(error).__name__}{f': {lines[0]}' if lines else ''}"
    # torch's words for a mask of ones and zeros that stands where indices belong.
    if isinstance(error, IndexError) and "indices" in message:
        message += " (the mask holds 1.0 and 0.0: index with mask.bool())"
    return message


def padded(inputs: LossInputs, columns: int, fill: float = -1.0) -> LossInputs:
    """Batch with that many masked tokens appended; values that must not matter stand under the mask."""
    # What stands under the mask moves with the logits: a loss that looks there shows it.
    log_pi = inputs["log_pi"]
    wide = {name: pad(tensor, (0, columns)) for name, tensor in inputs.items()}
    hidden = wide["mask"] == 0
    noise = (3 * log_pi[:, :1] - 1 + fill).expand_as(hidden)
    under = {"log_pi": noise, "log_old": noise.detach()}
    other = torch.full_like(wide["mask"], fill)
    shown = {k: torch.where(hidden, under.get(k, other), tensor) for k, tensor in wide.items()}
    return {**shown, "mask": wide["mask"]}
