"""Sums over all words of a length by one recursion, backward in time on (automaton state, context).

With log-weights w of (context, symbol) and a log-weight g of the final state, h_t(s, c) is the log of the
summed weight of all ways to finish a word from state s and context c:
    h_L(s, c) = g(s),   h_t(s, c) = log sum_x exp(w_t(c, x) + h_{t+1}(delta(s, x), c x)).
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dph_theory.support.errors import argument_error

from .automaton import ValidityAutomaton
from .log_weights import Weights

EVERY = slice(None)
TINIEST = 1e-290
"""Scaled sums below this may have lost digits to underflow."""


def log_accepting(automaton: ValidityAutomaton) -> Float[Tensor, " states"]:
    """The final log-weight of the filtered model: 0 at accepting states, -inf elsewhere."""
    return torch.from_numpy(np.where(automaton.accepting, 0.0, -np.inf))


def log_mass(
    weights: Weights, automaton: ValidityAutomaton, length: int, log_final: Tensor
) -> Float[Tensor, "*batch"]:
    """The log of the total weight, log sum_y exp(sum_t w_t(c_t, y_t) + log_final(final state of y))."""
    return messages(weights, automaton, length, log_final)[0][..., automaton.initial, 0]


def messages(
    weights: Weights,
    automaton: ValidityAutomaton,
    length: int,
    log_final: Tensor,
    product: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """All h_t, t = 0..length, each (*batch, S, V**min(t, order)); log_final (*batch, S).

    Linear in length and states, quadratic in the vocabulary. `product` replaces the sum over symbols, as
    `maximum` does. Raises ValueError for vocabularies that differ.
    """
    V = weights.vocabulary
    if automaton.symbols != V:
        raise argument_error(
            "automaton.symbols", automaton.symbols, f"the model's vocabulary has {V} symbols"
        )
    contexts = V ** min(length, weights.order)
    found = [log_final.unsqueeze(-1).expand(*log_final.shape, contexts)]
    step = product or (_log_matmul_exactly if weights.differentiable else _log_matmul)
    for t in reversed(range(length)):
        future = ahead(found[-1], automaton, V)
        log_w = weights.log_step(t).unflatten(-2, (-1, future.shape[-2]))
        found.append(step(log_w, future).flatten(-2))
    return tuple(reversed(found))


def ahead(
    values: Tensor, automaton: ValidityAutomaton, V: int, states: slice = EVERY
) -> Float[Tensor, "*batch states B V"]:
    """The values (*batch, S, C') one symbol on: at [s, b, x] that of (delta(s, x), b x), for these states.

    b runs over the part of a context that the next one keeps: all of it at first, then all but the oldest.
    """
    target = _next(automaton, values.shape[-1], V)[states]
    return values.flatten(-2).index_select(-1, target.flatten()).unflatten(-1, target.shape)


@lru_cache(maxsize=16)
def _next(automaton: ValidityAutomaton, contexts: int, V: int) -> Tensor:
    """The number of (delta(s, x), b x) among all (state, context), as [s, b, x]."""
    kept = torch.arange(contexts).view(-1, V)
    return torch.tensor(automaton.transitions)[:, None, :] * contexts + kept


def maximum(log_w: Tensor, future: Tensor) -> Tensor:
    """The product of the max-plus semiring: h_t is then the log-weight of the best way to finish."""
    return (log_w.unsqueeze(-4) + future.unsqueeze(-3)).amax(-1)


def _log_matmul_exactly(log_w: Tensor, future: Tensor) -> Tensor:
    """Log sum_x exp(log_w[a, b, x] + future[s, b, x]) as [s, a, b], differentiable to any order."""
    joint = log_w.unsqueeze(-4) + future.unsqueeze(-3)
    top = joint.detach().amax(-1, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0.0)
    total = (joint - top).exp().sum(-1)
    # Where nothing can follow, the logarithm is taken of 1 and thrown away: no gradient is nan.
    nothing = total == 0
    return (total.masked_fill(nothing, 1.0).log() + top.squeeze(-1)).masked_fill(nothing, -torch.inf)


def _log_matmul(log_w: Tensor, future: Tensor) -> Tensor:
    """The same through a product of matrices: one exponential an entry of the factors, not of the product.

    Scaled by the largest entry of each row, a sum can still underflow, if the factors are large at different
    x. Those sums are taken again exactly.
    """
    tops = [x.amax(-1, keepdim=True) for x in (log_w, future)]
    scales = [top.masked_fill(top == -torch.inf, 0.0) for top in tops]
    w, f = ((x - scale).exp() for x, scale in zip((log_w, future), scales, strict=True))
    total = (f.transpose(-3, -2) @ w.movedim(-3, -1)).movedim(-3, -1)
    found = total.log() + (scales[0].unsqueeze(-4) + scales[1].unsqueeze(-3)).squeeze(-1)
    lost = (total < TINIEST) & ((tops[0].unsqueeze(-4) + tops[1].unsqueeze(-3)).squeeze(-1) > -torch.inf)
    if lost.any():
        log_w, future = (x.expand(*lost.shape, -1)[lost] for x in (log_w.unsqueeze(-4), future.unsqueeze(-3)))
        found[lost] = torch.logsumexp(log_w + future, dim=-1)
    return found
