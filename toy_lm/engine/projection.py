"""Expected transition counts, and the M-projection argmin_pi KL(target || pi) that they give."""

import torch
from jaxtyping import Float
from torch import Tensor

from dph_theory.support.errors import argument_error

from .automaton import ValidityAutomaton
from .markov import MarkovLM
from .tilting import Law, ProductLM, on_one_automaton


def expected_counts(
    weights: MarkovLM, automaton: ValidityAutomaton, length: int, log_final: Tensor
) -> tuple[Float[Tensor, "*batch contexts V"], ...]:
    """Entry t: the probability of (context, symbol) at step t under the normalised law, (*batch, C_t, V).

    The derivative of `semiring.log_mass` in the log-weights of step t. Visits of a probability below the
    smallest float count as none.
    """
    return _counts(ProductLM.of(weights, automaton, length, log_final))


def m_projection(
    target: Law, order: int = 1, *, homogeneous: bool = True, length: int | None = None
) -> MarkovLM:
    """The Markov model of an order nearest to the target, argmin KL(target || pi), in closed form.

    Its rows are the target's expected counts of (context, symbol), normalised: of each step, or if
    homogeneous of all steps from `order` on together. Contexts that the target never visits get the uniform
    row, on which KL(target || pi) does not depend. Raises ValueError for an order below 1 or above the
    length, or a target without mass.
    """
    (chain,), length = on_one_automaton([target], length)
    if not 1 <= order <= length:
        raise argument_error("order", order, f"a whole number from 1 to the length {length}")
    if not chain.differentiable and (chain.log_mass == -torch.inf).any():
        raise argument_error("target", target, "some word must have positive probability")
    chain = chain.lifted(max(order, chain.weights.order))
    V = chain.weights.vocabulary
    # A shorter context sums over the older symbols, which lead its number.
    counts = [table.unflatten(-2, (-1, V ** min(t, order))).sum(-3) for t, table in enumerate(_counts(chain))]
    start, rest = counts[:order], counts[order:]
    empty = torch.zeros((*counts[0].shape[:-2], 0, V**order, V), dtype=torch.float64)
    steps = torch.stack(rest, dim=-3) if rest else empty
    transition = steps.sum(-3) if homogeneous else steps
    return MarkovLM(tuple(map(_log_rows, start)), _log_rows(transition), chain.differentiable)


def _counts(chain: ProductLM) -> tuple[Tensor, ...]:
    """Forward in time: the occupancy of (state, context), spread by the conditionals."""
    machine = chain.automaton
    states, V = machine.transitions.shape
    moves = torch.tensor(machine.transitions).flatten()
    shape = chain.messages[0].shape
    occupancy = torch.zeros(shape, dtype=torch.float64)
    occupancy[..., machine.initial, 0] = 1.0
    counts = []
    for t in range(chain.length):
        joint = occupancy.unsqueeze(-1) * chain.log_conditional(t).exp()
        counts.append(joint.sum(-3))
        kept = chain.messages[t + 1].shape[-1] // V
        spread = joint.unflatten(-2, (-1, kept)).sum(-3).transpose(-2, -1).flatten(-3, -2)
        # spread[..., (s, x), b] is what goes to state delta(s, x) and context (b, x).
        landed = torch.zeros((*shape[:-2], states * V, kept), dtype=torch.float64)
        target = moves * V + torch.arange(V).repeat(states)
        landed = landed.index_add(-2, target, spread)
        occupancy = landed.unflatten(-2, (states, V)).transpose(-2, -1).flatten(-2)
    return tuple(counts)


def _log_rows(counts: Tensor) -> Tensor:
    """The logs of the rows normalised; uniform where there is no count."""
    visits = counts.sum(-1, keepdim=True)
    none = visits == 0
    return torch.where(none, 1.0 / counts.shape[-1], counts / visits.masked_fill(none, 1.0)).log()
