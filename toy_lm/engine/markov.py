"""Markov language models: the next symbol depends on the last n, homogeneously in time or not.

A context is the number that its symbols write in base V, oldest first. Models made from numpy arrays answer
in numpy, models made from torch tensors in tensors that are differentiable; both compute in float64.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dph_theory.numeric.arrays import distribution
from dph_theory.support.errors import argument_error

from .automaton import checked_length, checked_words

Table: TypeAlias = np.ndarray | Tensor | Sequence[Any]
"""Probabilities or logits of the next symbol along the last axis."""
Answer: TypeAlias = Any
"""A numpy array (or scalar), or a tensor if one of the models was made from tensors."""
Seed: TypeAlias = int | np.random.Generator


@dataclass(frozen=True, eq=False, repr=False)
class MarkovLM:
    """A Markov model of order n >= 1 over V symbols, as logs of probabilities (zeros are -inf).

    log_initial[t] (*batch, V**t, V) serves step t < n, whose context is everything so far. Then
    log_transition serves: (*batch, V**n, V) at every step, or (*batch, L-n, V**n, V) for length L only.
    """

    log_initial: tuple[Tensor, ...]
    log_transition: Tensor
    differentiable: bool = False

    def __post_init__(self) -> None:
        if not self.log_initial:
            raise argument_error(
                "initial", (), "one table for each step before the context is full, at least one"
            )
        first, transition = self.log_initial[0], self.log_transition
        if first.ndim < 2 or first.shape[-2] != 1 or first.shape[-1] == 0:
            raise argument_error("initial[0].shape", tuple(first.shape), "(*batch, 1, V)")
        batch, V = tuple(first.shape[:-2]), first.shape[-1]
        for t, table in enumerate(self.log_initial):
            if tuple(table.shape) != (*batch, V**t, V):
                raise argument_error(f"initial[{t}].shape", tuple(table.shape), f"{(*batch, V**t, V)}")
        rows = (V**self.order, V)
        if tuple(transition.shape[-2:]) != rows or tuple(transition.shape[: len(batch)]) != batch:
            raise argument_error(
                "transition.shape", tuple(transition.shape), f"{(*batch, *rows)}, or with a step axis"
            )
        if transition.ndim > len(batch) + 3:
            raise argument_error(
                "transition.ndim", transition.ndim, "one step axis at most beyond the initial's batch"
            )

    def __repr__(self) -> str:
        sizes = {"vocabulary": self.vocabulary, "order": self.order, "length": self.length}
        return f"MarkovLM({', '.join(f'{name}={size}' for name, size in sizes.items())}, batch={self.batch})"

    @classmethod
    def from_probabilities(cls, initial: Table | tuple[Table, ...], transition: Table) -> "MarkovLM":
        """The model with these probabilities.

        initial is the first symbol's law (*batch, V) for order 1, a tuple with entry t (*batch, V**t, V) for
        any order; transition as in the class. ValueError unless every row is a distribution.
        """
        tables, differentiable = _tables(initial, transition)
        for name, table in tables.items():
            distribution(name, table.detach().numpy()) if table.numel() else None
        *start, last = (table.log() for table in tables.values())
        return cls(tuple(start), last, differentiable)

    @classmethod
    def from_logits(cls, initial: Table | tuple[Table, ...], transition: Table) -> "MarkovLM":
        """The model whose rows are the softmax of these logits; arguments as in `from_probabilities`.

        -inf is a probability of zero. ValueError for rows without a finite sum; tensors are not looked at,
        so that they may be traced.
        """
        tables, differentiable = _tables(initial, transition)
        for name, table in () if differentiable else tables.items():
            if not table.logsumexp(dim=-1).isfinite().all():
                raise argument_error(name, "logits", "below inf, not nan, and in every row some above -inf")
        *start, last = (torch.log_softmax(table, dim=-1) for table in tables.values())
        return cls(tuple(start), last, differentiable)

    @classmethod
    def random(
        cls,
        vocabulary: int,
        order: int = 1,
        *,
        length: int | None = None,
        batch: tuple[int, ...] = (),
        concentration: float = 1.0,
        seed: Seed,
    ) -> "MarkovLM":
        """A numpy model whose rows are independent Dirichlet(concentration) draws.

        Homogeneous, or with a length inhomogeneous.
        """
        rng = np.random.default_rng(seed)
        if vocabulary < 1 or order < 1:
            raise argument_error("(vocabulary, order)", (vocabulary, order), "whole numbers, at least 1")
        if length is not None and length < order:
            raise argument_error("length", length, f"at least the order {order}")
        if not 0 < concentration < np.inf:
            raise argument_error("concentration", concentration, "a finite number above 0")

        def rows(*shape: int) -> np.ndarray:
            return rng.dirichlet(np.full(vocabulary, concentration), size=(*batch, *shape))

        steps = () if length is None else (length - order,)
        initial = tuple(rows(vocabulary**t) for t in range(order))
        return cls.from_probabilities(initial, rows(*steps, vocabulary**order))

    @property
    def vocabulary(self) -> int:
        """The number V of symbols."""
        return self.log_transition.shape[-1]

    @property
    def order(self) -> int:
        """The number n of symbols that the next one depends on."""
        return len(self.log_initial)

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes: one model each."""
        return tuple(self.log_initial[0].shape[:-2])

    @property
    def homogeneous(self) -> bool:
        """Whether one table serves every step from n on."""
        return self.log_transition.ndim == self.log_initial[0].ndim

    @property
    def length(self) -> int | None:
        """The only word length that an inhomogeneous model knows; None if homogeneous."""
        return None if self.homogeneous else self.order + self.log_transition.shape[-3]

    def log_step(self, t: int) -> Float[Tensor, "*batch contexts V"]:
        """Log-probabilities of symbol t given its context, (*batch, V**min(t, n), V)."""
        if t < self.order:
            return self.log_initial[t]
        return self.log_transition if self.homogeneous else self.log_transition[..., t - self.order, :, :]

    def member(self, *index: Any) -> "MarkovLM":
        """One model of the batch."""
        tables = [table[index] for table in (*self.log_initial, self.log_transition)]
        return MarkovLM(tuple(tables[:-1]), tables[-1], self.differentiable)

    def log_prob(self, words: Int[np.ndarray, "*words length"]) -> Answer:
        """Log-probability of each word, (*batch, *words)."""
        words = checked_words("words", words, self.vocabulary)
        length = agreed_length(words.shape[-1], self)
        context = np.zeros(words.shape[:-1], dtype=np.int64)
        total = torch.zeros((*self.batch, *words.shape[:-1]), dtype=torch.float64)
        for t in range(length):
            total = total + self.log_step(t)[..., context, words[..., t]]
            context = (context * self.vocabulary + words[..., t]) % self.vocabulary ** min(t + 1, self.order)
        return answer(total, self)

    def sample(
        self, count: int, seed: Seed, *, length: int | None = None
    ) -> Int[np.ndarray, "*batch count L"]:
        """Independent words, (*batch, count, length); a homogeneous model needs the length."""
        length = agreed_length(self.length if length is None else length, self)
        stay = np.zeros((1, self.vocabulary), dtype=np.int64)
        return walk(lambda t: self.log_step(t).unsqueeze(-3), stay, 0, length, self.batch, count, seed)

    def lifted(self, order: int) -> "MarkovLM":
        """The same law written with a higher order (the older symbols of a context do not matter)."""
        if order < self.order:
            raise argument_error("order", order, f"at least the model's own, {self.order}")
        if self.length is not None and order > self.length:
            raise argument_error("order", order, f"at most the model's length, {self.length}")
        V = self.vocabulary
        start = tuple(_older(self.log_step(t), V ** (t - min(t, self.order))) for t in range(order))
        rest = (
            self.log_transition if self.homogeneous else self.log_transition[..., order - self.order :, :, :]
        )
        return MarkovLM(start, _older(rest, V ** (order - self.order)), self.differentiable)


def agreed_length(length: int | None, *models: Any) -> int:
    """The length, if every model can have it; ValueError otherwise."""
    if length is None:
        raise argument_error("length", length, "a homogeneous model has any: say which")
    for model in models:
        if model.length not in (None, length):
            raise argument_error(
                "length", length, f"the inhomogeneous model is one of words of length {model.length}"
            )
    return checked_length(length, at_least=1)


def single(name: str, model: MarkovLM) -> MarkovLM:
    """The model; ValueError if it is a batch of models."""
    if model.batch:
        raise argument_error(
            f"{name}.batch", model.batch, "one model, without batch axes; `member` picks one"
        )
    return model


def next_contexts(context: np.ndarray | int, V: int, ahead: int) -> Int[np.ndarray, "*batch V"]:
    """The context after each context and each symbol, where there are `ahead` contexts."""
    return (np.asarray(context)[..., None] * V + np.arange(V)) % ahead


def answer(value: Tensor, *models: Any) -> Answer:
    """The value as a tensor if any of the models is made of tensors, else in numpy."""
    return value if any(model.differentiable for model in models) else value.numpy()[()]


def walk(
    log_step: Any,
    transitions: np.ndarray,
    initial: int,
    length: int,
    batch: tuple[int, ...],
    count: int,
    seed: Seed,
) -> np.ndarray:
    """Ancestral samples: log_step(t) (*batch, states, contexts, V) are the logs of the next symbol's law."""
    if count < 0:
        raise argument_error("count", count, "a whole number, at least 0")
    rng = np.random.default_rng(seed)
    members = int(np.prod(batch))
    state = np.full((members, count), initial)
    context = np.zeros((members, count), dtype=np.int64)
    words = np.empty((members, count, length), dtype=np.int64)
    for t in range(length):
        table = log_step(t).detach().numpy()
        contexts, V = table.shape[-2:]
        table = np.broadcast_to(table, (*batch, *table.shape[-3:])).reshape(members, -1, contexts, V)
        rows = table[np.arange(members)[:, None], state, context]
        # The largest of log p + Gumbel noise is a draw from p, and no impossible symbol can be it.
        words[..., t] = symbol = (rows + rng.gumbel(size=rows.shape)).argmax(axis=-1)
        state = transitions[state, symbol]
        context = context * V + symbol
        if t + 1 < length:
            context %= log_step(t + 1).shape[-2]
    return words.reshape(*batch, count, length)


def _tables(initial: Table | tuple[Table, ...], transition: Table) -> tuple[dict[str, Tensor], bool]:
    """Float64 tensors, and whether any of them was one before."""
    given = (*initial, transition) if isinstance(initial, tuple) else (initial, transition)
    tables = [table.double() if isinstance(table, Tensor) else _tensor(table) for table in given]
    if not isinstance(initial, tuple):
        tables[0] = tables[0].unsqueeze(-2)
    names = [f"initial[{t}]" for t in range(len(tables) - 1)] + ["transition"]
    return dict(zip(names, tables, strict=True)), any(isinstance(table, Tensor) for table in given)


def _tensor(table: Any) -> Tensor:
    return torch.from_numpy(np.array(table, dtype=np.float64))


def _older(table: Tensor, copies: int) -> Tensor:
    """The rows repeated for every value of the older symbols, which lead the context's number."""
    return table.unsqueeze(-3).expand(*table.shape[:-2], copies, *table.shape[-2:]).flatten(-3, -2)
