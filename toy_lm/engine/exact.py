"""Exact information quantities of Markov models and of their filtered and tilted models.

Laws are `MarkovLM` (say the length) or `ProductLM`; differing orders are lifted, a Markov model runs over the
other's automaton. Divergences are sums of non-negative divergences of next-symbol laws (chain rule), so that
they are accurate however small. All batch over leading axes and cost O(length states V^(order+1)).
"""

import math
from typing import TypeAlias

import torch
from torch import Tensor

import dph_theory
from dph_theory.support.errors import argument_error

from . import semiring
from .automaton import ValidityAutomaton
from .log_weights import Powers
from .markov import Answer, MarkovLM, agreed_length, answer
from .step_costs import average, entropy_row, kl_row
from .tilting import Law, ProductLM, on_one_automaton

Pair: TypeAlias = tuple[ProductLM, ProductLM]
"""A policy and a base, both given that the word is accepted."""


class SequenceExcessKL(dph_theory.ExcessKL):
    """KL(policy || base) = validity + valid + invalid, each (*batch), in numpy or torch; see `excess_kl`."""

    __slots__ = ()

    @property
    def excess(self) -> Answer:
        """The collapse meter: what was paid beyond the least cost of the validity reached."""
        return self.valid + self.invalid


def log_validity(policy: MarkovLM, automaton: ValidityAutomaton, length: int) -> Answer:
    """Log pi(Y1), the log of the pass rate, (*batch)."""
    return answer(_part(policy, automaton, length).log_mass, policy)


def validity(policy: MarkovLM, automaton: ValidityAutomaton, length: int) -> Answer:
    """pi(Y1) = E_pi[v], the pass rate, (*batch)."""
    return answer(_part(policy, automaton, length).log_mass.exp(), policy)


def entropy(law: Law, length: int | None = None) -> Answer:
    """The Shannon entropy in nats, -sum p log p, (*batch)."""
    (chain,), _ = on_one_automaton([law], length)
    return answer(_entropy(chain), law)


def effective_number(law: Law, length: int | None = None) -> Answer:
    """e^entropy, the effective number of words, (*batch); inf beyond the largest float."""
    (chain,), _ = on_one_automaton([law], length)
    return answer(_entropy(chain).exp(), law)


def cross_entropy(p: Law, q: Law, length: int | None = None) -> Answer:
    """-E_p[log q], (*batch); inf where q misses words of p."""
    (left, right), _ = on_one_automaton([p, q], length)
    return answer(_cross_entropy(left, right), left, right)


def kl(p: Law, q: Law, length: int | None = None) -> Answer:
    """KL(p || q) = E_p[log p/q], (*batch); inf where q misses words of p."""
    (left, right), _ = on_one_automaton([p, q], length)
    return answer(_kl(left, right), left, right)


def excess_kl(
    policy: MarkovLM, base: MarkovLM, automaton: ValidityAutomaton, length: int
) -> SequenceExcessKL:
    """The parts of KL(pi || a), theory A8; `.excess` is the collapse meter.

    KL(pi||a) = kl(pi(Y1)||a(Y1)) + pi(Y1) KL(pi(.|Y1)||p_*) + pi(Y0) KL(pi(.|Y0)||p_0), each (*batch) and
    each computed on its own. Raises ValueError if the automaton accepts no or every word of this length.
    Source: ours (chain rule).
    """
    automaton.require_informative(agreed_length(length, policy, base))
    valid, invalid = (conditioned(policy, base, part, length) for part in (automaton, ~automaton))
    parts = decomposed(valid, invalid, torch.stack([_kl(*valid), _kl(*invalid)], -1))
    (left, right), _ = on_one_automaton([policy, base], length)
    return SequenceExcessKL(*(answer(part, policy, base) for part in (_kl(left, right), *parts)))


def conditioned(policy: MarkovLM, base: MarkovLM, automaton: ValidityAutomaton, length: int) -> Pair:
    """Policy and base given that the automaton accepts, at one order; see `ProductLM` for no mass."""
    laws, _ = on_one_automaton([_part(law, automaton, length) for law in (policy, base)])
    return laws[0], laws[1]


def decomposed(valid: Pair, invalid: Pair, inside: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The terms of theory A8 from the KL inside the valid and the invalid part, inside (*batch, 2)."""
    log_mu, log_rate = (
        torch.stack([v.log_mass, i.log_mass], -1) for v, i in zip(valid, invalid, strict=True)
    )
    mu = log_mu.exp()
    # Where the policy never goes there is no KL (nan), and it counts for nothing.
    inside = inside.nan_to_num(nan=0.0, posinf=torch.inf)
    parts = average(log_mu.unsqueeze(-1), mu.unsqueeze(-1), inside.unsqueeze(-1))
    return kl_row(log_mu, mu, log_rate), parts[..., 0], parts[..., 1]


def entropy_and_kl(p: ProductLM, q: ProductLM) -> tuple[Answer, Answer]:
    """The entropy of p and KL(p || q) in one pass, for chains over one automaton."""
    (left, right), _ = on_one_automaton([p, q])

    def rows(t: int, states: slice, log_p: Tensor, p: Tensor) -> Tensor:
        return torch.stack([entropy_row(log_p, p), kl_row(log_p, p, right.log_conditional(t, states))])

    both = left.mean(rows)
    return answer(both[0], left, right), answer(both[1], left, right)


def log_moment(p: Law, q: Law, alpha: float, length: int | None = None) -> Answer:
    """Log sum_y p(y)^(1-alpha) q(y)^alpha, (*batch), for any finite alpha; +inf where it diverges.

    (1-alpha) times the Renyi divergence of order 1-alpha is its negative.
    """
    chains, length = on_one_automaton([p, q], length)
    return answer(_log_moment(chains, (1 - alpha, alpha), length), *chains)


def alpha_divergence(p: Law, q: Law, alpha: float, length: int | None = None) -> Answer:
    """D_alpha(p || q) = (sum p^(1-alpha) q^alpha - 1)/(alpha(alpha-1)), (*batch), as dph_theory's.

    alpha -> 1 is KL(q || p), alpha -> 0 is KL(p || q). Raises ValueError for alpha in {0, 1}, or not finite.
    """
    if not math.isfinite(alpha) or alpha in (0, 1):
        raise argument_error(
            "alpha", alpha, "any finite number but 0 and 1, where it is KL(p || q) and KL(q || p)"
        )
    chains, length = on_one_automaton([p, q], length)
    moment = _log_moment(chains, (1 - alpha, alpha), length)
    return answer(torch.expm1(moment) / (alpha * (alpha - 1)), *chains)


def chi_squared(p: Law, q: Law, length: int | None = None) -> Answer:
    """Pearson's chi-squared, sum (p - q)^2/q = sum p^2/q - 1, (*batch)."""
    return 2 * alpha_divergence(p, q, -1.0, length)


def _entropy(chain: ProductLM) -> Tensor:
    return chain.mean(lambda t, states, log_p, p: entropy_row(log_p, p))


def _kl(left: ProductLM, right: ProductLM) -> Tensor:
    return left.mean(lambda t, states, log_p, p: kl_row(log_p, p, right.log_conditional(t, states)))


def _cross_entropy(left: ProductLM, right: ProductLM) -> Tensor:
    return left.mean(lambda t, states, log_p, p: average(log_p, p, -right.log_conditional(t, states)))


def _part(policy: MarkovLM, automaton: ValidityAutomaton, length: int) -> ProductLM:
    length = agreed_length(length, policy)
    return ProductLM.of(policy, automaton, length, semiring.log_accepting(automaton))


def _log_moment(chains: list[ProductLM], exponents: tuple[float, float], length: int) -> Tensor:
    """From the weights' powers; where a negative exponent meets a zero of its law alone, +inf."""
    weights = Powers(tuple(chain.weights for chain in chains), exponents)
    final = Powers.combine([chain.log_final for chain in chains], exponents)
    moment = semiring.log_mass(weights, chains[0].automaton, length, final)
    for chain, exponent in zip(chains, exponents, strict=True):
        moment = moment - exponent * chain.log_mass
    for (one, exponent), other in zip(zip(chains, exponents, strict=True), reversed(chains), strict=True):
        if exponent < 0:
            moment = moment.masked_fill(_cross_entropy(other, one) == torch.inf, torch.inf)
    return moment
