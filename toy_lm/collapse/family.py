"""Families of bigram policies by their logits: one transition table for all steps, or one per step."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dph_theory.support.errors import argument_error

from ..engine.markov import MarkovLM


@dataclass(frozen=True)
class Bigrams:
    """All bigram models of words of one length with positive probabilities; theta -> softmax of each row.

    theta has a row of V logits for the first symbol, then one for each context: for each last symbol if
    homogeneous, else for each step and last symbol. Raises ValueError unless V >= 2 and length >= 2.
    """

    vocabulary: int
    length: int
    homogeneous: bool

    def __post_init__(self) -> None:
        for name in ("vocabulary", "length"):
            if getattr(self, name) < 2:
                raise argument_error(name, getattr(self, name), "at least 2")

    @property
    def name(self) -> str:
        """Name of the family in results."""
        return "homogeneous" if self.homogeneous else "inhomogeneous"

    @property
    def contexts(self) -> int:
        """Number of rows of logits."""
        return 1 + self.vocabulary * (1 if self.homogeneous else self.length - 1)

    @property
    def size(self) -> int:
        """Number of logits; each row has one direction that changes nothing."""
        return self.contexts * self.vocabulary

    def rows(self, theta: Float[Tensor, "*batch size"]) -> Float[Tensor, "*batch contexts V"]:
        """Log-probabilities of the next symbol, one row per context."""
        return theta.unflatten(-1, (self.contexts, self.vocabulary)).log_softmax(-1)

    def tables(self, model: MarkovLM) -> Float[Tensor, "*batch contexts V"]:
        """Log-probabilities of a bigram model's rows in the layout of this family."""
        steps = 1 if self.homogeneous else self.length - 1
        rows = [model.initial[..., None, :], *[model.transition] * steps]
        return torch.from_numpy(np.concatenate(rows, axis=-2)).log()

    def cells(self, words: Int[Tensor, "words length"]) -> Int[Tensor, "words length"]:
        """Index in theta of the logit of each symbol of each word."""
        steps = torch.arange(self.length - 1) * (0 if self.homogeneous else self.vocabulary)
        rows = torch.cat([torch.zeros_like(words[:, :1]), 1 + steps + words[:, :-1]], dim=-1)
        return rows * self.vocabulary + words

    def log_prob(
        self, rows: Float[Tensor, "*batch contexts V"], words: Int[Tensor, "words length"]
    ) -> Float[Tensor, "*batch words"]:
        """Log-probabilities of words from log-rows: sums of cells, which are cheapest to differentiate."""
        return rows.flatten(-2)[..., self.cells(words)].sum(-1)

    def contains_dirac(self, words: Int[Tensor, "words length"]) -> Bool[Tensor, " words"]:
        """Mask of the words whose deterministic policy is a limit of the family.

        In the homogeneous family each symbol of such a word is always followed by the same symbol.
        """
        if not self.homogeneous:
            return torch.ones(len(words), dtype=torch.bool)
        pairs = torch.zeros(len(words), self.vocabulary, self.vocabulary, dtype=torch.bool)
        pairs[torch.arange(len(words))[:, None], words[:, :-1], words[:, 1:]] = True
        return (pairs.sum(-1) <= 1).all(-1)

    def dirac(
        self, words: Int[Tensor, "words length"], scale: float = torch.inf
    ) -> Float[Tensor, "words size"]:
        """Logits of the policies that emit each word: its symbols lead all others by `scale`.

        Rows that the word never uses stay uniform. With scale inf the others get no mass at all.
        """
        used = torch.zeros(len(words), self.size, dtype=torch.bool)
        used = used.scatter(-1, self.cells(words), True).unflatten(-1, (self.contexts, self.vocabulary))
        unused = used.any(-1, keepdim=True) & ~used
        return torch.zeros(used.shape, dtype=torch.float64).masked_fill(unused, -scale).flatten(-2)

    def visits(self, theta: Float[Tensor, "*batch size"]) -> Float[Tensor, "*batch contexts"]:
        """Expected number of uses of each row in a word."""
        rows = self.rows(theta).exp()
        symbols, tables = [rows[..., :1, :]], rows[..., 1:, :]
        for t in range(self.length - 2):
            start = 0 if self.homogeneous else t * self.vocabulary
            symbols.append(symbols[-1] @ tables[..., start : start + self.vocabulary, :])
        used = torch.cat(symbols, dim=-2)
        used = used.sum(-2) if self.homogeneous else used.flatten(-2)
        return torch.cat([torch.ones_like(used[..., :1]), used], dim=-1)

    def kl(
        self, theta: Float[Tensor, "*batch size"], other: Float[Tensor, "*batch contexts V"]
    ) -> Float[Tensor, "*batch"]:
        """KL to the member with other log-rows: the divergence of each row times its expected uses."""
        rows = self.rows(theta)
        return (self.visits(theta) * kl_row(rows, rows.exp(), other)).sum(-1)

    def frame(self, theta: Float[Tensor, "batch size"]) -> Float[Tensor, "batch size free"]:
        """Basis of tangent vectors, orthonormal in the Fisher metric of the distribution over words.

        A row p with n expected uses contributes n (diag p - p p^T). With U an orthonormal basis of the
        complement of sqrt(p), the vectors diag(p)^{-1/2} U / sqrt(n) have unit Fisher metric, and stay exact
        for tiny p or n; the row's null direction (1, ..., 1) is left out. free = contexts (V - 1).
        """
        V = self.vocabulary
        root = (self.rows(theta) / 2).exp()
        # The other columns of the Householder reflection from sqrt(p) to -e_V span the complement.
        normal = root.clone()
        normal[..., -1] += 1
        reflection = torch.eye(V) - normal[..., :, None] * normal[..., None, :] / normal[..., -1, None, None]
        rows = reflection[..., :-1] / (root * self.visits(theta).sqrt()[..., None])[..., None]
        blocks = torch.einsum("...rvk,rq->...rvqk", rows, torch.eye(self.contexts, dtype=rows.dtype))
        return blocks.flatten(-4, -3).flatten(-2)


_NEAR = 0.03  # Log-ratios closer to 0 than this use a series.
_SERIES = [(-1.0) ** k / math.factorial(k) for k in range(7, 1, -1)]
"""Coefficients of e^-x - 1 + x, from x^7 down to x^2: relative accuracy 1e-13 for |x| < 0.03."""


def kl_row(log_p: Tensor, p: Tensor, log_q: Tensor) -> Tensor:
    """KL(p || q) = sum_x p log(p/q) - p + q with non-negative terms: relative accuracy about 1e-12.

    Smooth, so that autograd's second derivatives are correct also at p = q.
    """
    q, x = log_q.exp(), log_p - log_q
    # x is nan where both vanish and +inf where only q does; where only p does, any x outside the series
    # works.
    x = x.nan_to_num(nan=0.0, posinf=torch.inf, neginf=-1.0)
    impossible = x.amax(-1) == torch.inf
    x = x.nan_to_num(posinf=0.0)
    series = torch.full((), _SERIES[0], dtype=x.dtype)
    for coefficient in _SERIES[1:]:
        series = torch.addcmul(torch.full((), coefficient, dtype=x.dtype), series, x)
    terms = torch.where(x.abs() < _NEAR, p * x * (series * x), torch.addcmul(q, p, x - 1))
    return terms.sum(-1).masked_fill(impossible, torch.inf)
