"""Problems small enough to enumerate, and the exact expected value and gradient of a loss on one."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import compress, product
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from ..support.errors import argument_error
from .report import Reduction

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

    def probabilities(self, logits: Tensor) -> Tensor:
        """The probabilities of all sequences, (sequences,), detached."""
        return self.log_probs(logits).sum(dim=-1).exp().detach()

    def sample_distribution(self, source: str) -> Tensor:
        """The distribution that the samples come from, (sequences,): see `report.SAMPLES`."""
        if source == "filtered":
            correct = self.probabilities(self.reference) * self.valid
            return correct / correct.sum()
        logits = {"policy": self.policy, "old_policy": self.old, "reference": self.reference}
        return self.probabilities(logits[source])

    @cached_property
    def jacobian(self) -> Tensor:
        """The derivatives of the tokens' log-probabilities in the logits, (sequences, length, parameters)."""
        return torch.autograd.functional.jacobian(self.log_probs, self.policy).flatten(2)

    def prefix_visits(self, source: str) -> Tensor:
        """How often samples visit each prefix, (prefixes,)."""
        visits = self.sample_distribution(source)[:, None] * self.mask
        unvisited = torch.zeros(len(self.policy), dtype=torch.float64)
        return unvisited.index_add(0, self.prefix.flatten(), visits.flatten())


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
    heads = [[y[:t] for t in range(length)] for y in sequences]
    visited = {head for row, counts in zip(heads, counted, strict=True) for head in compress(row, counts)}
    prefixes = sorted(visited, key=lambda prefix: (len(prefix), prefix))
    place = {prefix: i for i, prefix in enumerate(prefixes)}

    def logits() -> Tensor:
        return torch.randn(len(prefixes), vocabulary, dtype=torch.float64, generator=generator)

    order = torch.randperm(len(sequences), generator=generator)
    valid = torch.zeros(len(sequences), dtype=torch.float64)
    # At least two valid sequences, so that there is a distribution within Y1 to preserve, and one invalid.
    valid[order[: max(2, len(sequences) // 2)]] = 1.0
    policy, reference = logits(), logits()
    return Problem(
        vocabulary,
        length,
        prefix=torch.tensor([[place.get(head, 0) for head in row] for row in heads]),
        token=torch.tensor(sequences),
        mask=torch.tensor(counted, dtype=torch.float64),
        policy=policy,
        reference=reference,
        old=policy + 0.5 * logits(),
        valid=valid,
    )


@cache
def random_problems(seed: int, *, ends: bool = False) -> tuple[Problem, ...]:
    """One random problem of each shape, or of each in which token 0 ends sequences."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(random_problem(*shape, generator, ends=ends) for shape in (ENDING if ends else SHAPES))


@cache
def near_the_reference(problem: Problem, reach: float) -> Problem:
    """The problem with its policies nearer to the reference: no |log(pi/ref)| of a token is above `reach`."""
    log_ratios = torch.log_softmax(problem.policy, -1) - torch.log_softmax(problem.reference, -1)
    # The log ratio of a mixture of logits is at most 2 max |difference| times the share.
    share = min(1.0, reach / (2 * float(log_ratios.abs().max())))

    def moved(logits: Tensor) -> Tensor:
        return problem.reference + share * (logits - problem.reference)

    return replace(problem, policy=moved(problem.policy), old=moved(problem.old))


Loss = Callable[..., Any]
LossInputs = dict[str, Tensor]
ARGUMENTS = ("log_pi", "log_ref", "log_old", "advantages", "mask")
SAMPLER = "log_rollout"
"""The log-probabilities of the policy that sampled, where a loss has also those of an old policy: then the
old policy is the policy itself, held fixed, as at the first update on a batch."""
TAKEN = (
    f"any of {', '.join(ARGUMENTS)}, {SAMPLER}, or of names that mean one, as old_log_probs: what is audited "
    "is a function of the sampled tokens' log-probabilities, so no divergence summed over the vocabulary, as "
    "in distillation"
)
"""What a loss may take."""
CALLS = 100
"""How often a batch is evaluated anew: a loss that differs in a tenth of its calls passes once in 37,000."""


class LossError(Exception):
    """A loss that cannot be audited on a problem, and why."""


@dataclass(frozen=True)
class ExpectedLoss:
    """Expected value and gradient in the logits (flattened), and the variance of one batch's gradient."""

    problem: Problem
    samples: str
    value: float
    gradient: Tensor
    variance: float
    scale: float
    """The largest norm of a batch's gradient: against it a mean counts as vanishing."""


_LOG = {"log", "logs", "logp", "logps", "logprob", "logprobs", "logpi"}
_PLAIN = {
    "pi",
    "p",
    "prob",
    "probs",
    "per",
    "token",
    "policy",
    "new",
    "cur",
    "curr",
    "current",
    "actor",
    "theta",
}
_WHOSE = {
    "log_ref": {"ref", "reference"},
    "log_old": {"old", "prev", "previous"},
    SAMPLER: {"rollout", "sampler", "sampling", "generation", "behavior", "behaviour", "vllm", "inference"},
}
"""Words of a parameter's name: that it holds logarithms; what says nothing; whose they are."""


def _meaning(name: str) -> str | None:
    """Which of ARGUMENTS, or SAMPLER, a parameter of this name is, such as old_log_probs; None if unknown."""
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
    """What each parameter that a loss needs is, by its name: one of ARGUMENTS or SAMPLER.

    One with a default counts if it has just that name. Raises ValueError for others, for two of one meaning,
    or if none is log_pi.
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
    """Which of ARGUMENTS a loss takes, under whatever name; ValueError as `meanings_of`."""
    meanings = [meaning.replace(SAMPLER, "log_old") for meaning in meanings_of(loss).values()]
    return tuple(name for name in ARGUMENTS if name in meanings)


@dataclass(frozen=True)
class Audited:
    """A loss, called with all of ARGUMENTS, of which it takes `names`; and what was found of it first."""

    loss: Loss
    names: tuple[str, ...]
    samples: str = "policy"
    precision: str = "float64"
    reduction: Reduction | None = None

    @classmethod
    def from_function(cls, loss: Loss, samples: str = "policy") -> "Audited":
        """Nothing is known of it; raises ValueError as `meanings_of`."""
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
    def single(self) -> bool:
        """Whether agreement is that of float32."""
        return self.precision == "float32"

    @property
    def adds(self) -> str:
        """How a batch is added up, "unknown" if that could not be found."""
        return "unknown" if self.reduction is None else self.reduction.batch

    def with_inputs(self, **changes: Callable[[LossInputs], Tensor]) -> "Audited":
        """The same loss with some of what it is given made anew of all that is given."""

        def loss(**inputs: Tensor) -> Any:
            changed = {name: change(inputs) for name, change in changes.items()}
            # What is left may not depend on the policy any more: its slope then is zero.
            return self.loss(**{**inputs, **changed}) + 0 * inputs["log_pi"].sum()

        return replace(self, loss=loss)

    def silent(self) -> "Audited":
        """The loss of answers whose advantages are all zero, as in groups of equal rewards."""
        return self.with_inputs(advantages=lambda inputs: 0 * inputs["advantages"])

    def minus(self, other: "Audited") -> "Audited":
        """What this loss has and the other one has not."""
        return replace(self, loss=lambda **inputs: self.loss(**inputs) - other.loss(**inputs))

    def value(self, inputs: LossInputs) -> Tensor:
        """The loss of a batch as a checked scalar; LossError says what is wrong with it."""
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
        """The loss of a batch and its slopes in log_pi; LossError says where one is not finite."""
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
        """All sequences of a problem, (sequences, tokens), at these logits of the policy, its own by default.

        All but log_pi are detached. On policy samples the old policy is the policy. The advantage is v less
        its mean over the samples. A loss that takes a mask gets masked tokens too, as many as the vocabulary
        decides, which must not matter.
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
        """Some sequences of a batch; a loss without a mask is given no more tokens than they have."""
        places = list(chosen)
        width = inputs["log_pi"].shape[1] if "mask" in self.names else int(problem.lengths[places].max())
        return {name: tensor[places, :width] for name, tensor in inputs.items()}

    def is_random(self, problem: Problem) -> bool:
        """Whether evaluations of the same batch differ."""
        inputs = self.rows(self.batch(problem), range(len(problem.token)), problem)
        first = self.value(inputs).detach()
        return any(bool(self.value(inputs).detach() != first) for _ in range(CALLS - 1))

    def weights(self, problem: Problem, *, undivided: bool = False) -> Tensor:
        """What a sequence's loss is multiplied by: a division by the padded length is undone.

        If `undivided`, one by the tokens of the batch is too.
        """
        if undivided and self.adds == "token mean":
            return problem.lengths
        divides = self.reduction is not None and self.reduction.padding == "divides by the padded length"
        return torch.full_like(problem.lengths, problem.length + problem.padding if divides else 1)

    def measure(self, problem: Problem, *, size: int = 1, undivided: bool = False) -> ExpectedLoss:
        """E[loss] and E[gradient] over all batches of `size` samples, held fixed; raises LossError."""
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
        variance = float(chance @ ((stacked - mean) ** 2).sum(dim=-1))
        total = float(chance @ torch.tensor(values, dtype=distribution.dtype))
        largest = float(stacked.norm(dim=-1).max())
        return ExpectedLoss(problem, self.samples, total, mean, variance, largest)


def _in_one_line(error: Exception) -> str:
    """An exception in one line."""
    lines = str(error).strip().splitlines()
    message = f"{type(error).__name__}{f': {lines[0]}' if lines else ''}"
    # torch's words for a mask of ones and zeros that stands where indices belong.
    if isinstance(error, IndexError) and "indices" in message:
        message += " (the mask holds 1.0 and 0.0: index with mask.bool())"
    return message


def padded(inputs: LossInputs, columns: int, fill: float = -1.0) -> LossInputs:
    """The same with so many masked tokens more, and under the mask log-probabilities that mean nothing.

    What stands under the mask moves with the logits: a loss that looks there shows it.
    """
    log_pi = inputs["log_pi"]
    wide = {name: pad(tensor, (0, columns)) for name, tensor in inputs.items()}
    hidden = wide["mask"] == 0
    noise = (3 * log_pi[:, :1] - 1 + fill).expand_as(hidden)
    under = {"log_pi": noise, "log_old": noise.detach()}
    other = torch.full_like(wide["mask"], fill)
    shown = {k: torch.where(hidden, under.get(k, other), tensor) for k, tensor in wide.items()}
    return {**shown, "mask": wide["mask"]}


def expected_gradients(
    losses: Mapping[str, Loss], pi: np.ndarray, ref: np.ndarray, sampler: np.ndarray
) -> np.ndarray:
    """What autograd makes of each loss, E_sampler[grad loss] in the logits of pi, on many one-token problems.

    pi, ref and `sampler` are (batch, outcomes) with full support, the old policy is the policy; gives
    (batch, losses, outcomes). The outcomes are enumerated, the instances vectorised.
    """
    logits = torch.as_tensor(np.log(pi)).requires_grad_()
    log_ref, chances = torch.as_tensor(np.log(ref)), torch.as_tensor(sampler)

    def expected(loss: Loss) -> Loss:
        def mean(logits: Tensor, log_ref: Tensor, sampler: Tensor) -> Tensor:
            log_pi = torch.log_softmax(logits, dim=-1)
            inputs = {"log_pi": log_pi, "log_ref": log_ref, "log_old": log_pi.detach()}
            inputs |= {"mask": torch.ones_like(log_pi), "advantages": torch.zeros_like(log_pi)}
            tokens = ({k: v[i].reshape(1, 1) for k, v in inputs.items()} for i in range(len(sampler)))
            values = [Audited.from_function(loss).loss(**token).reshape(()) for token in tokens]
            return sampler @ torch.stack(values)

        return mean

    # Instances do not meet in a sum: its gradient is that of each.
    sums = [torch.vmap(expected(loss))(logits, log_ref, chances).sum() for loss in losses.values()]
    return torch.stack([torch.autograd.grad(total, logits)[0] for total in sums], dim=1).numpy()
