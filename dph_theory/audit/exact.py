"""Problems small enough to enumerate, and the exact expected value and gradient of a loss on one."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..support.errors import argument_error

SHAPES = ((3, 1), (4, 1), (5, 1), (2, 2), (3, 2), (2, 3), (2, 4))
"""(vocabulary, length) of the audited problems: three of outcomes, four of sequences."""
ENDING = ((3, 2), (2, 3))
"""(vocabulary, greatest length) of those in which token 0 ends a sequence."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One enumerable problem; tensors are float64. `prefix` and `token` index each sequence's steps.

    `mask` (sequences, length) is one at the tokens of a sequence and zero behind its end.
    """

    vocabulary: int
    length: int
    prefix: Tensor
    token: Tensor
    mask: Tensor
    policy: Tensor
    reference: Tensor
    old: Tensor
    valid: Tensor

    @property
    def name(self) -> str:
        """Such as "sequences of 2 tokens out of 3"."""
        if self.length == 1:
            return f"{self.vocabulary} outcomes"
        most = "up to " * bool((self.mask == 0).any())
        return f"sequences of {most}{self.length} tokens out of {self.vocabulary}"

    def sequence(self, index: int) -> str:
        """A sequence's tokens, such as "(0, 2)"."""
        tokens = self.token[index][self.mask[index] > 0].tolist()
        return f"({', '.join(map(str, tokens))})"

    @property
    def lengths(self) -> Tensor:
        """The number of tokens of each sequence, (sequences,)."""
        return self.mask.sum(dim=-1)

    def log_probs(self, logits: Tensor) -> Tensor:
        """Per-token log-probabilities of every sequence, (sequences, length); zero behind the end."""
        return torch.log_softmax(logits, dim=-1)[self.prefix, self.token] * self.mask

    def law(self, logits: Tensor) -> Tensor:
        """The probabilities of all sequences, (sequences,), detached."""
        return self.log_probs(logits).sum(dim=-1).exp().detach()

    def samples(self, source: str) -> Tensor:
        """The law that the samples come from, (sequences,): see `report.SAMPLES`."""
        if source == "filtered":
            kept = self.law(self.reference) * self.valid
            return kept / kept.sum()
        return self.law({"policy": self.policy, "old_policy": self.old, "reference": self.reference}[source])

    def prefix_law(self, law: Tensor) -> Tensor:
        """How often a law over sequences visits each prefix, (prefixes,)."""
        visits = torch.zeros(len(self.policy), dtype=law.dtype)
        return visits.index_add(0, self.prefix.flatten(), (law[:, None] * self.mask).flatten())

    def distribution(self, logits: Tensor) -> np.ndarray:
        """The law of the sequences as a numpy distribution."""
        return self.law(logits).numpy()


def _layout(vocabulary: int, length: int, ends: bool) -> tuple[Tensor, Tensor, Tensor, int]:
    """(prefix row, token, mask) of every step of every sequence, and the number of prefixes."""
    rows: dict[tuple[int, ...], int] = {}
    for size in range(length):
        for head in product(range(vocabulary), repeat=size):
            if not (ends and 0 in head):
                rows[head] = len(rows)
    # Behind the end stand zeros, so that each sequence is met once.
    sequences = [
        y
        for y in product(range(vocabulary), repeat=length)
        if not ends or all(b == 0 for a, b in pairwise(y) if a == 0)
    ]
    counted = [[not (ends and 0 in y[:t]) for t in range(length)] for y in sequences]
    prefix = torch.tensor([[rows.get(y[:t], 0) for t in range(length)] for y in sequences])
    return prefix, torch.tensor(sequences), torch.tensor(counted, dtype=torch.float64), len(rows)


def random_problem(
    vocabulary: int, length: int, generator: torch.Generator, *, ends: bool = False
) -> Problem:
    """A problem with random logits and a verifier that accepts about half of the sequences."""
    prefix, token, mask, rows = _layout(vocabulary, length, ends)

    def logits() -> Tensor:
        return torch.randn(rows, vocabulary, dtype=torch.float64, generator=generator)

    count = len(token)
    order = torch.randperm(count, generator=generator)
    valid = torch.zeros(count, dtype=torch.float64)
    # At least two valid sequences, so that there is a law within Y1 to preserve, and one invalid.
    valid[order[: max(2, count // 2)]] = 1.0
    policy, reference = logits(), logits()
    return Problem(vocabulary, length, prefix, token, mask, policy, reference, policy + 0.5 * logits(), valid)


@cache
def random_problems(seed: int) -> tuple[Problem, ...]:
    """One random problem of each shape."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(random_problem(*shape, generator) for shape in SHAPES)


@cache
def ending_problems(seed: int) -> tuple[Problem, ...]:
    """One random problem of each shape in which sequences end at token 0."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(random_problem(*shape, generator, ends=True) for shape in ENDING)


def near_the_reference(problem: Problem, reach: float) -> Problem:
    """The problem with its policies nearer to the reference: no |log(pi/ref)| of a token is above `reach`."""
    far = torch.log_softmax(problem.policy, -1) - torch.log_softmax(problem.reference, -1)
    # The log ratio of a mixture of logits is at most 2 max |difference| times the share.
    share = min(1.0, reach / (2 * float(far.abs().max())))

    def moved(logits: Tensor) -> Tensor:
        return problem.reference + share * (logits - problem.reference)

    return replace(problem, policy=moved(problem.policy), old=moved(problem.old))


Loss = Callable[..., Any]
Given = dict[str, Tensor]
ARGUMENTS = ("log_pi", "log_ref", "log_old", "advantages", "mask")
TAKEN = (
    f"any of {', '.join(ARGUMENTS)}: what is audited is a function of the sampled tokens' log-probabilities, "
    "so no divergence summed over the vocabulary, as in distillation"
)
"""What a loss may take."""


class LossError(Exception):
    """A loss that cannot be audited on a problem, and why."""


@dataclass(frozen=True)
class MeasuredLoss:
    """Expected value and gradient in the logits (flattened), and the variance of one batch's gradient."""

    value: float
    gradient: Tensor
    variance: float
    scale: float
    """The largest norm of a batch's gradient: against it a vanishing mean is told."""


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
            raise argument_error("loss parameter", name, f"{TAKEN}, or one with a default")
    named = tuple(p.name for p in parameters if p.name in ARGUMENTS)
    if "log_pi" not in named:
        raise argument_error("loss parameters", named, "log_pi must be among them")
    return named


def call(loss: Loss, given: Given) -> Tensor:
    """The loss of a batch as a checked scalar; LossError says what is wrong with it."""
    before = {name: tensor.detach().clone() for name, tensor in given.items()}
    try:
        value = loss(**given)
    except Exception as error:
        raise LossError(f"it raised {_said(error)}") from error
    value = scalar_of(value)
    for name, tensor in given.items():
        if not torch.equal(tensor.detach(), before[name]):
            raise LossError(f"it changes its argument {name} in place")
    if not isinstance(value, Tensor) or value.ndim != 0:
        found = (
            f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        )
        raise LossError(f"it returned {found}, not a scalar tensor")
    if value.is_complex():
        raise LossError("it returned a complex number")
    if value.isnan():
        raise LossError("it returned nan")
    if not value.requires_grad:
        raise LossError("its result does not depend on log_pi")
    return value


def scalar_of(value: Any) -> Any:
    """The loss of what it returned: its first, where what a trainer logs stands beside it."""
    return value[0] if isinstance(value, tuple) and value else value


def _said(error: Exception) -> str:
    """An exception in one line."""
    lines = str(error).strip().splitlines()
    said = f"{type(error).__name__}{': ' * bool(lines)}{lines[0] if lines else ''}"
    # torch's words for a mask of ones and zeros that stands where indices belong.
    if isinstance(error, IndexError) and "indices" in said:
        said += " (the mask holds 1.0 and 0.0: index with mask.bool())"
    return said


def batch(problem: Problem, logits: Tensor, source: str, names: Sequence[str]) -> Given:
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
        "mask": problem.mask,
    }
    if "mask" in names:
        given = padded(given, padding(problem))
    return {name: given[name] for name in names}


def padding(problem: Problem) -> int:
    """How many masked tokens a loss that takes a mask is given after the longest sequence."""
    return 1 + problem.vocabulary % 3


def padded(given: Given, columns: int, fill: float = -1.0) -> Given:
    """The same with so many masked tokens more, and under the mask log-probabilities that mean nothing.

    What stands under the mask moves with the logits: a loss that looks there shows it.
    """
    log_pi = given["log_pi"]
    wide = {name: torch.nn.functional.pad(tensor, (0, columns)) for name, tensor in given.items()}
    noise = (3 * log_pi[:, :1] - 1 + fill).expand_as(wide["mask"])
    hidden = wide["mask"] == 0
    under = {"log_pi": noise, "log_old": noise.detach()}
    other = torch.full_like(wide["mask"], fill)
    return {
        name: tensor if name == "mask" else torch.where(hidden, under.get(name, other), tensor)
        for name, tensor in wide.items()
    }


def rows(given: Given, indices: Sequence[int], problem: Problem) -> Given:
    """Some sequences of a batch; a loss without a mask is given no more tokens than they have."""
    chosen = list(indices)
    width = given["log_pi"].shape[1] if "mask" in given else int(problem.lengths[chosen].max())
    return {name: tensor[chosen, :width] for name, tensor in given.items()}


def expected_loss(loss: Loss, given: Given, problem: Problem, law: Tensor) -> Tensor:
    """E_law[loss of a batch of one], differentiable."""
    kept = [i for i in range(len(law)) if law[i] > 0]
    return torch.stack([law[i] * call(loss, rows(given, [i], problem)) for i in kept]).sum()


def measure(
    loss: Loss,
    names: Sequence[str],
    problem: Problem,
    source: str,
    *,
    size: int = 1,
    weights: Tensor | None = None,
) -> MeasuredLoss:
    """E[loss] and E[gradient] over all batches of `size` samples, held fixed, exactly; raises LossError.

    weights: what each sequence's loss is multiplied by, for batches of one; the numbers of tokens turn the
    mean over each sequence into the sum over its tokens.
    """
    law = problem.samples(source)
    given = batch(problem, problem.policy.clone().requires_grad_(), source, names)
    through = _jacobian(problem, "mask" in names)
    kept = [i for i in range(len(law)) if law[i] > 0]
    chances, values, gradients = [], [], []
    for chosen in product(kept, repeat=size):
        value, slope = sloped(loss, given, chosen, problem)
        factor = 1.0 if weights is None else float(weights[list(chosen)].prod())
        chances.append(math.prod(float(law[i]) for i in chosen))
        values.append(factor * value)
        gradients.append(factor * torch.einsum("yt,ytp->p", slope, through[list(chosen), : slope.shape[1]]))
    chance, stacked = torch.tensor(chances, dtype=law.dtype), torch.stack(gradients)
    mean = chance @ stacked
    variance = float(chance @ ((stacked - mean) ** 2).sum(dim=-1))
    total = float(chance @ torch.tensor(values, dtype=law.dtype))
    return MeasuredLoss(total, mean, variance, float(stacked.norm(dim=-1).max()))


@cache
def _jacobian(problem: Problem, masked: bool) -> Tensor:
    """The derivatives of what the loss is given as log_pi in the logits, (sequences, tokens, parameters)."""
    names = ("log_pi", "mask") if masked else ("log_pi",)

    def log_pi(logits: Tensor) -> Tensor:
        return batch(problem, logits, "policy", names)["log_pi"]

    # Not torch.func's, whose first use loads the compiler: a second.
    derivatives: Tensor = torch.autograd.functional.jacobian(log_pi, problem.policy)
    return derivatives.flatten(2)


def sloped(loss: Loss, given: Given, chosen: Sequence[int], problem: Problem) -> tuple[float, Tensor]:
    """The loss of these sequences of a batch and its slopes in their log_pi, as `value_and_slope`."""
    return value_and_slope(loss, rows(given, chosen, problem), called=[problem.sequence(i) for i in chosen])


def value_and_slope(loss: Loss, given: Given, called: Sequence[str] = ()) -> tuple[float, Tensor]:
    """The loss of a batch and its slopes in log_pi; LossError says where one is not finite."""
    try:
        value = call(loss, given)
    except LossError as error:
        at = f" on {' with '.join(called)}" if called and str(error) == "it returned nan" else ""
        raise LossError(f"{error}{at}") from error
    try:
        (slope,) = torch.autograd.grad(value, given["log_pi"], allow_unused=True)
    except Exception as error:
        raise LossError(f"its gradient raised {_said(error)}") from error
    if slope is None:
        raise LossError("its result does not depend on log_pi")
    if not slope.isfinite().all():
        row, place = torch.nonzero(~slope.isfinite())[0].tolist()
        where = called[row] if called else f"sequence {row + 1}"
        at = ", ".join(f"{k} = {float(given[k][row, place].detach()):.4g}" for k in given if k != "mask")
        kind = "nan" if slope[row, place].isnan() else "infinite"
        raise LossError(f"its gradient is {kind} at token {place + 1} of {where}, where {at}")
    return float(value.detach()), slope


CALLS = 100
"""How often a batch is evaluated anew: a loss that differs in a tenth of its calls passes once in 37,000."""


def is_random(loss: Loss, names: Sequence[str], problem: Problem, source: str) -> bool:
    """Whether evaluations of the same batch differ."""
    logits = problem.policy.clone().requires_grad_()
    given = rows(batch(problem, logits, source, names), range(len(problem.token)), problem)
    first = call(loss, given).detach()
    return any(bool(call(loss, given).detach() != first) for _ in range(CALLS - 1))


def expected_gradients(
    losses: Mapping[str, Loss], pi: np.ndarray, ref: np.ndarray, law: np.ndarray
) -> np.ndarray:
    """What autograd makes of each loss, E_law[grad loss] in the logits of pi, on many one-token problems.

    pi, ref and law are (batch, outcomes) with full support, the old policy is the policy; gives
    (batch, losses, outcomes). The outcomes are enumerated, the instances vectorised.
    """
    logits = torch.as_tensor(np.log(pi)).requires_grad_()
    given = torch.as_tensor(np.log(ref)), torch.as_tensor(law)
    # Instances do not meet in a sum: its gradient is that of each.
    sums = [torch.vmap(_expected(loss))(logits, *given).sum() for loss in losses.values()]
    return torch.stack([torch.autograd.grad(total, logits)[0] for total in sums], dim=1).numpy()


def _expected(loss: Loss) -> Loss:
    names = arguments_of(loss)

    def expected(logits: Tensor, log_ref: Tensor, law: Tensor) -> Tensor:
        log_pi = torch.log_softmax(logits, dim=-1)
        given = {
            "log_pi": log_pi[:, None],
            "log_ref": log_ref[:, None],
            "log_old": log_pi.detach()[:, None],
            "mask": torch.ones_like(log_pi)[:, None],
        }
        each = [loss(**{name: given[name][i : i + 1] for name in names}).reshape(()) for i in range(len(law))]
        return law @ torch.stack(each)

    return expected
