"""Problems small enough to enumerate, and the exact expected value and gradient of a loss on one."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from ..support.errors import argument_error
from .report import AddingUp

SHAPES = ((3, 1), (4, 1), (5, 1), (2, 2), (3, 2), (2, 3), (2, 4))
"""(vocabulary, length) of the audited problems: three of outcomes, four of sequences."""
ENDING = ((3, 2), (2, 3))
"""(vocabulary, greatest length) of those in which token 0 ends a sequence."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One enumerable problem; tensors are float64. `prefix` and `token` index each sequence's steps.

    `mask` (sequences, length) is one at the tokens of a sequence and zero behind its end; `policy`,
    `reference` and `old` are logits (prefixes, vocabulary).
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
        most = "up to " if (self.mask == 0).any() else ""
        return f"sequences of {most}{self.length} tokens out of {self.vocabulary}"

    @property
    def lengths(self) -> Tensor:
        """The number of tokens of each sequence, (sequences,)."""
        return self.mask.sum(dim=-1)

    @property
    def padding(self) -> int:
        """How many masked tokens a loss that takes a mask is given after the longest sequence."""
        return 1 + self.vocabulary % 3

    def log_probs(self, logits: Tensor) -> Tensor:
        """Per-token log-probabilities of every sequence, (sequences, length); zero behind the end."""
        return torch.log_softmax(logits, dim=-1)[self.prefix, self.token] * self.mask

    def law(self, logits: Tensor) -> Tensor:
        """The probabilities of all sequences, (sequences,), detached."""
        return self.log_probs(logits).sum(dim=-1).exp().detach()

    def samples(self, source: str) -> Tensor:
        """The distribution that the samples come from, (sequences,): see `report.SAMPLES`."""
        if source == "filtered":
            kept = self.law(self.reference) * self.valid
            return kept / kept.sum()
        return self.law({"policy": self.policy, "old_policy": self.old, "reference": self.reference}[source])

    @cached_property
    def through(self) -> Tensor:
        """The derivatives of the tokens' log-probabilities in the logits, (sequences, length, parameters)."""
        laws, ones = torch.softmax(self.policy, -1), torch.eye(self.vocabulary, dtype=torch.float64)
        found = torch.zeros(*self.token.shape, *self.policy.shape, dtype=torch.float64)
        places = (torch.arange(len(self.token))[:, None], torch.arange(self.length), self.prefix)
        found[places] = (ones[self.token] - laws[self.prefix]) * self.mask[..., None]
        return found.flatten(2)

    def prefix_law(self, source: str) -> Tensor:
        """How often samples visit each prefix, (prefixes,)."""
        visits = torch.zeros(len(self.policy), dtype=torch.float64)
        return visits.index_add(
            0, self.prefix.flatten(), (self.samples(source)[:, None] * self.mask).flatten()
        )


def random_problem(
    vocabulary: int, length: int, generator: torch.Generator, *, ends: bool = False
) -> Problem:
    """A problem with random logits and a verifier that accepts about half of the sequences.

    If it `ends`, token 0 ends a sequence; behind it stand zeros, so that each sequence is met once.
    """
    sequences = [
        y for y in product(range(vocabulary), repeat=length) if not (ends and 0 in y and any(y[y.index(0) :]))
    ]
    counted = [[not (ends and 0 in y[:t]) for t in range(length)] for y in sequences]
    steps = [(y[:t], kept) for y, row in zip(sequences, counted, strict=True) for t, kept in enumerate(row)]
    heads = sorted({head for head, kept in steps if kept}, key=lambda head: (len(head), head))
    place = {head: i for i, head in enumerate(heads)}

    def logits() -> Tensor:
        return torch.randn(len(heads), vocabulary, dtype=torch.float64, generator=generator)

    order = torch.randperm(len(sequences), generator=generator)
    valid = torch.zeros(len(sequences), dtype=torch.float64)
    # At least two valid sequences, so that there is a law within Y1 to preserve, and one invalid.
    valid[order[: max(2, len(sequences) // 2)]] = 1.0
    policy, reference = logits(), logits()
    return Problem(
        vocabulary,
        length,
        torch.tensor([place.get(head, 0) for head, _ in steps]).reshape(-1, length),
        torch.tensor(sequences),
        torch.tensor(counted, dtype=torch.float64),
        policy,
        reference,
        policy + 0.5 * logits(),
        valid,
    )


@cache
def random_problems(seed: int, *, ends: bool = False) -> tuple[Problem, ...]:
    """One random problem of each shape, or of each in which token 0 ends sequences."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(random_problem(*shape, generator, ends=ends) for shape in (ENDING if ends else SHAPES))


@cache
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
CALLS = 100
"""How often a batch is evaluated anew: a loss that differs in a tenth of its calls passes once in 37,000."""


class LossError(Exception):
    """A loss that cannot be audited on a problem, and why."""


@dataclass(frozen=True)
class Measured:
    """Expected value and gradient in the logits (flattened), and the variance of one batch's gradient."""

    problem: Problem
    samples: str
    value: float
    gradient: Tensor
    variance: float
    scale: float
    """The largest norm of a batch's gradient: against it a mean counts as vanishing."""


def arguments_of(loss: Loss) -> tuple[str, ...]:
    """Which of the audited arguments the loss takes.

    Raises ValueError if it is none, needs others, or does not take log_pi.
    """
    try:
        parameters = inspect.signature(loss).parameters.values()
    except (TypeError, ValueError) as error:
        raise argument_error("loss", loss, f"a function of {TAKEN}") from error
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return ARGUMENTS
    required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    for name in required:
        if name not in ARGUMENTS:
            # Of old_log_pi or ref_logps the word that tells them apart is one of a known name.
            same = [known for known in ARGUMENTS if known.rpartition("_")[2] in name.split("_")]
            same = [of for of in same if of != "log_pi"] or same
            rename = f"rename it to {same[0]}; " if same else ""
            raise argument_error("loss parameter", name, f"{rename}{TAKEN}, or one with a default")
    named = tuple(p.name for p in parameters if p.name in ARGUMENTS)
    if "log_pi" not in named:
        raise argument_error("loss parameters", named, "log_pi must be among them")
    return named


@dataclass(frozen=True)
class Audited:
    """A loss, called with all of ARGUMENTS, of which it takes `names`; and what was found of it first."""

    loss: Loss
    names: tuple[str, ...]
    samples: str = "policy"
    precision: str = "float64"
    reduction: AddingUp | None = None

    @classmethod
    def of(cls, loss: Loss, samples: str = "policy") -> "Audited":
        """Nothing is known of it; raises ValueError as `arguments_of`."""
        names = arguments_of(loss)
        return cls(lambda **given: loss(**{name: given[name] for name in names}), names, samples)

    @property
    def single(self) -> bool:
        """Whether agreement is that of float32."""
        return self.precision == "float32"

    @property
    def adds(self) -> str:
        """How a batch is added up, "unknown" if that could not be found."""
        return "unknown" if self.reduction is None else self.reduction.batch

    def but(self, **changed: Callable[[Given], Tensor]) -> "Audited":
        """The same loss with some of what it is given made anew of all that is given."""

        def loss(**given: Tensor) -> Any:
            made = {name: of(given) for name, of in changed.items()}
            # What is left may not depend on the policy any more: its slope then is zero.
            return first_of(self.loss(**{**given, **made})) + 0 * given["log_pi"].sum()

        return replace(self, loss=loss)

    def less(self, other: "Audited") -> "Audited":
        """What this loss has and the other one has not."""
        return replace(
            self, loss=lambda **given: first_of(self.loss(**given)) - first_of(other.loss(**given))
        )

    def value(self, given: Given) -> Tensor:
        """The loss of a batch as a checked scalar; LossError says what is wrong with it."""
        before = {name: given[name]._version for name in self.names}
        try:
            value = first_of(self.loss(**given))
        except Exception as error:
            raise LossError(f"it raised {_said(error)}") from error
        for name, version in before.items():
            if given[name]._version != version:
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

    def slope(self, given: Given, *, finite: bool = True) -> tuple[float, Tensor]:
        """The loss of a batch and its slopes in log_pi; LossError says where one is not finite."""
        value = self.value(given)
        try:
            (slope,) = torch.autograd.grad(value, given["log_pi"], allow_unused=True)
        except Exception as error:
            raise LossError(f"its gradient raised {_said(error)}") from error
        if slope is None:
            raise LossError("its result does not depend on log_pi")
        if finite and not slope.isfinite().all():
            row, place = torch.nonzero(~slope.isfinite())[0].tolist()
            at = ", ".join(
                f"{k} = {float(given[k][row, place].detach()):.4g}" for k in self.names if k != "mask"
            )
            kind = "nan" if slope[row, place].isnan() else "infinite"
            raise LossError(f"its gradient is {kind} at a token where {at}")
        return float(value.detach()), slope

    def batch(self, problem: Problem, logits: Tensor | None = None) -> Given:
        """All sequences of a problem as a batch, at these logits of the policy, its own by default."""
        logits = problem.policy.clone().requires_grad_() if logits is None else logits
        return _batch(problem, logits, self.samples, masked="mask" in self.names)

    def rows(self, given: Given, chosen: Sequence[int], problem: Problem) -> Given:
        """Some sequences of a batch; a loss without a mask is given no more tokens than they have."""
        places = list(chosen)
        width = given["log_pi"].shape[1] if "mask" in self.names else int(problem.lengths[places].max())
        return {name: tensor[places, :width] for name, tensor in given.items()}

    def is_random(self, problem: Problem) -> bool:
        """Whether evaluations of the same batch differ."""
        given = self.rows(self.batch(problem), range(len(problem.token)), problem)
        first = self.value(given).detach()
        return any(bool(self.value(given).detach() != first) for _ in range(CALLS - 1))

    def weights(self, problem: Problem, *, undivided: bool = False) -> Tensor:
        """What a sequence's loss is multiplied by: a division by the padded length is undone.

        If `undivided`, one by the tokens of the batch is too.
        """
        if undivided and self.adds == "token mean":
            return problem.lengths
        divides = self.reduction is not None and self.reduction.padding == "divides by the padded length"
        return torch.full_like(problem.lengths, problem.length + problem.padding if divides else 1)

    def measure(self, problem: Problem, *, size: int = 1, undivided: bool = False) -> Measured:
        """E[loss] and E[gradient] over all batches of `size` samples, held fixed; raises LossError."""
        law, weights = problem.samples(self.samples), self.weights(problem, undivided=undivided)
        given, through = self.batch(problem), problem.through
        if "mask" in self.names:
            # Under the mask stands what moves thrice as much as the first token, as `padded` has it.
            through = pad(through, (0, 0, 0, problem.padding))
            through = torch.where(given["mask"][..., None] == 0, 3 * through[:, :1], through)
        chances, values, gradients = [], [], []
        for chosen in product([i for i in range(len(law)) if law[i] > 0], repeat=size):
            places = list(chosen)
            value, slope = self.slope(self.rows(given, places, problem))
            factor = float(weights[places].prod())
            chances.append(math.prod(float(law[i]) for i in places))
            values.append(factor * value)
            gradients.append(factor * torch.einsum("yt,ytp->p", slope, through[places, : slope.shape[1]]))
        chance, stacked = torch.tensor(chances, dtype=law.dtype), torch.stack(gradients)
        mean = chance @ stacked
        variance = float(chance @ ((stacked - mean) ** 2).sum(dim=-1))
        total = float(chance @ torch.tensor(values, dtype=law.dtype))
        largest = float(stacked.norm(dim=-1).max())
        return Measured(problem, self.samples, total, mean, variance, largest)


def first_of(value: Any) -> Any:
    """The loss of what it returned: its first, where what a trainer logs stands beside it."""
    return value[0] if isinstance(value, tuple) and value else value


def _said(error: Exception) -> str:
    """An exception in one line."""
    lines = str(error).strip().splitlines()
    said = f"{type(error).__name__}{f': {lines[0]}' if lines else ''}"
    # torch's words for a mask of ones and zeros that stands where indices belong.
    if isinstance(error, IndexError) and "indices" in said:
        said += " (the mask holds 1.0 and 0.0: index with mask.bool())"
    return said


def _batch(problem: Problem, logits: Tensor, source: str, *, masked: bool) -> Given:
    """The tensors (sequences, tokens) that a loss is given; all but log_pi are detached.

    On policy samples the old policy is the policy. The advantage is v less its mean over the samples. A loss
    that takes a mask gets masked tokens too, as many as the vocabulary decides, which must not matter.
    """
    log_pi = problem.log_probs(logits)
    old = problem.log_probs(problem.old) if source == "old_policy" else log_pi.detach()
    advantage = problem.valid - (problem.samples(source) * problem.valid).sum()
    given = {
        "log_pi": log_pi,
        "log_ref": problem.log_probs(problem.reference),
        "log_old": old,
        "advantages": advantage[:, None].expand_as(log_pi).clone(),
        "mask": problem.mask,
    }
    return padded(given, problem.padding) if masked else given


def padded(given: Given, columns: int, fill: float = -1.0) -> Given:
    """The same with so many masked tokens more, and under the mask log-probabilities that mean nothing.

    What stands under the mask moves with the logits: a loss that looks there shows it.
    """
    log_pi = given["log_pi"]
    wide = {name: pad(tensor, (0, columns)) for name, tensor in given.items()}
    hidden = wide["mask"] == 0
    noise = (3 * log_pi[:, :1] - 1 + fill).expand_as(hidden)
    under = {"log_pi": noise, "log_old": noise.detach()}
    other = torch.full_like(wide["mask"], fill)
    shown = {k: torch.where(hidden, under.get(k, other), tensor) for k, tensor in wide.items()}
    return {**shown, "mask": wide["mask"]}


def expected_gradients(
    losses: Mapping[str, Loss], pi: np.ndarray, ref: np.ndarray, law: np.ndarray
) -> np.ndarray:
    """What autograd makes of each loss, E_law[grad loss] in the logits of pi, on many one-token problems.

    pi, ref and `law` are (batch, outcomes) with full support, the old policy is the policy; gives
    (batch, losses, outcomes). The outcomes are enumerated, the instances vectorised.
    """
    logits = torch.as_tensor(np.log(pi)).requires_grad_()
    log_ref, chances = torch.as_tensor(np.log(ref)), torch.as_tensor(law)

    def expected(loss: Loss) -> Loss:
        def of(logits: Tensor, log_ref: Tensor, law: Tensor) -> Tensor:
            log_pi = torch.log_softmax(logits, dim=-1)
            given = {"log_pi": log_pi, "log_ref": log_ref, "log_old": log_pi.detach()}
            given |= {"mask": torch.ones_like(log_pi), "advantages": torch.zeros_like(log_pi)}
            each = [
                Audited.of(loss).loss(**{k: v[i].reshape(1, 1) for k, v in given.items()})
                for i in range(len(law))
            ]
            return law @ torch.stack([value.reshape(()) for value in each])

        return of

    # Instances do not meet in a sum: its gradient is that of each.
    sums = [torch.vmap(expected(loss))(logits, log_ref, chances).sum() for loss in losses.values()]
    return torch.stack([torch.autograd.grad(total, logits)[0] for total in sums], dim=1).numpy()
