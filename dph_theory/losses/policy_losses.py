"""The policy losses of trainers, each re-stated from its formula: a surrogate of a token, and how it adds up.

Tensors are (batch, tokens); r = pi/old of a token, A its advantage. A surrogate is what is maximised.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from .released import Loss, answer_sum, token_mean

Surrogate = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""(log_pi, log_old, advantages, mask) -> what a token adds, (batch, tokens)."""
Reduce = Callable[[Tensor, Tensor], Tensor]
"""(values, mask) -> scalar."""


def policy_loss(surrogate: Surrogate, reduce: Reduce = token_mean) -> Loss:
    """Minus the surrogate, added up."""

    def loss(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        return -reduce(surrogate(log_pi, log_old, advantages, mask), mask)

    return loss


def sequence_mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over each sequence's tokens, then over sequences."""
    return ((values * mask).sum(dim=-1) / mask.sum(dim=-1).clamp(min=1)).mean()


def over_length(length: int) -> Reduce:
    """The sum over each sequence's tokens by a fixed length, mean over sequences."""
    return lambda values, mask: answer_sum(values, mask) / length


def total(values: Tensor, mask: Tensor) -> Tensor:
    """The sum over all tokens."""
    return (values * mask).sum()


def token_log_ratio(log_pi: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
    """log r."""
    return log_pi - log_old


def sequence_log_ratio(log_pi: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
    """The mean of log r over the sequence, at each of its tokens."""
    mean = ((log_pi - log_old) * mask).sum(dim=-1, keepdim=True) / mask.sum(dim=-1, keepdim=True).clamp(min=1)
    return mean.expand_as(log_pi)


def held_sequence_log_ratio(log_pi: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
    """The same in value, with the slope of the token's own log pi; at most 10."""
    held = sequence_log_ratio(log_pi, log_old, mask).detach()
    return (log_pi - log_pi.detach() + held).clamp(max=10.0)


def clipped(
    low: float = 0.2,
    high: float = 0.2,
    *,
    inner: float | None = None,
    dual: float | None = None,
    delta: float | None = None,
    log_ratio: Callable[[Tensor, Tensor, Tensor], Tensor] = token_log_ratio,
) -> Surrogate:
    """min(r A, clip(r, 1-low, 1+high) A), where |log r| is clamped at `inner`.

    dual: for A < 0 not below dual A. delta: r in the first term is clamped at delta.
    """

    def surrogate(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        x = log_ratio(log_pi, log_old, mask)
        ratio = torch.exp(x if inner is None else x.clamp(-inner, inner))
        first = ratio if delta is None else ratio.clamp(max=delta)
        least = torch.minimum(first * advantages, ratio.clamp(1 - low, 1 + high) * advantages)
        if dual is None:
            return least
        return torch.where(advantages < 0, torch.maximum(least, dual * advantages), least)

    return surrogate


def reinforce(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
    """A log pi."""
    return advantages * log_pi


def held_ratio(low: float | None, high: float, inner: float | None = None) -> Surrogate:
    """CISPO: sg(clip(r, low, high)) A log pi."""

    def surrogate(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        x = log_pi - log_old
        ratio = torch.exp(x if inner is None else x.clamp(-inner, inner)).clamp(min=low, max=high)
        return ratio.detach() * advantages * log_pi

    return surrogate


def soft_gate(positive: float, negative: float, inner: float | None = None) -> Surrogate:
    """SAPO: (4/t) sigmoid(t (r - 1)) A, t by the sign of A."""

    def surrogate(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        x = log_pi - log_old
        ratio = torch.exp(x if inner is None else x.clamp(-inner, inner))
        t = torch.where(advantages > 0, positive, negative)
        return 4 / t * torch.sigmoid(t * (ratio - 1)) * advantages

    return surrogate


def gamma_weight(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
    """VESPO: sg(w^k e^{l (1 - w)}) A log pi, w the sequence's ratio; k, l = 2, 3 if A >= 0, else 3, 2."""
    log_w = ((log_pi - log_old).clamp(-20, 20) * mask).sum(dim=-1, keepdim=True)
    log_w = log_w.clamp(-18.420680743952367, 20).detach()
    k, rate = (torch.where(advantages >= 0, *pair) for pair in ((2.0, 3.0), (3.0, 2.0)))
    return torch.exp(rate + k * log_w - rate * torch.exp(log_w)) * advantages * log_pi


def geometric_mean(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
    """GMPO: A exp(the sequence's mean of log r, clipped as A's sign asks to +-0.2), at each token."""
    x, sign = log_pi - log_old, torch.sign(advantages)
    near = sign * torch.minimum(sign * x, sign * x.clamp(-0.2, 0.2))
    mean = (near * mask).sum(dim=-1, keepdim=True) / mask.sum(dim=-1, keepdim=True)
    return torch.exp(mean).expand_as(log_pi) * advantages


def probability_region(limit: float, *, binary_kl: bool) -> Surrogate:
    """DPPO: sg(min(r, 3)) A log pi at tokens whose probability has not moved too far the way A asks.

    Too far: by more than `limit`, or with a KL of {token, not token} above it.
    """

    def surrogate(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        pi, old = torch.exp(log_pi.detach()), torch.exp(log_old)
        if binary_kl:
            rest = torch.log((1 - old + 1e-8) / (1 - pi + 1e-8))
            far = old * (log_old - log_pi.detach()) + (1 - old) * rest > limit
            up, down = far & (pi > old), far & (pi < old)
        else:
            up, down = pi - old > limit, pi - old < -limit
        kept = ~torch.where(advantages > 0, up, down)
        ratio = torch.exp((log_pi - log_old).clamp(-20, 20)).clamp(max=3.0).detach()
        return ratio * advantages * log_pi * kept

    return surrogate


def masked_ratio(limit: float, tau: float, *, both_ways: bool = False) -> Surrogate:
    """r A - tau (log r)^2, the first term only where pi - old is within `limit` the way A asks, or both."""

    def surrogate(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        moved = torch.exp(log_pi.detach()) - torch.exp(log_old)
        far = torch.where(advantages > 0, moved > limit, moved < -limit)
        far = moved.abs() > limit if both_ways else far
        return ~far * torch.exp(log_pi - log_old) * advantages - tau * (log_pi - log_old) ** 2

    return surrogate


def quadratic(beta: float) -> Surrogate:
    """DRO: A log pi - beta (log r)^2 / 2."""

    def surrogate(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        return advantages * log_pi - beta / 2 * (log_pi - log_old) ** 2

    return surrogate


def covariances(log_pi: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
    """(A - mean A)(log pi - mean log pi) of each token, the means over the batch's; -inf under the mask."""
    count = mask.sum()
    parts = [y - (torch.where(mask > 0, y, 0 * y)).sum() / count for y in (advantages, log_pi.detach())]
    return torch.where(mask > 0, parts[0] * parts[1], -torch.inf)


def penalised_covariance(share: float = 0.0002, coefficient: float = 0.1) -> Surrogate:
    """KL-Cov: r A, less coefficient |log r| at the share of tokens (one at least) of largest covariance."""

    def surrogate(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        x, found = log_pi - log_old, covariances(log_pi, advantages, mask)
        count = max(1, int(float(mask.sum()) * share))
        chosen = torch.zeros_like(found).flatten().scatter(0, found.flatten().topk(count).indices, 1.0)
        return torch.exp(x) * advantages - coefficient * x.abs() * chosen.reshape(x.shape)

    return surrogate


def clipped_covariance(share: float = 0.0002, low: float = 1.0, high: float = 5.0) -> Surrogate:
    """Clip-Cov: the clipped surrogate without tokens drawn from those of covariance in (low, high).

    As many are drawn as the share of the batch's tokens, one at least; the draw is averaged over.
    """
    plain = clipped()

    def surrogate(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        found, ratio = covariances(log_pi, advantages, mask), torch.exp((log_pi - log_old).detach())
        stopped = ratio * advantages > ratio.clamp(0.8, 1.2) * advantages
        candidates = (found > low) & (found < high) & ~stopped
        drawn = max(1, int(float(mask.sum()) * share))
        dropped = min(1.0, drawn / max(1, int(candidates.sum())))
        return plain(log_pi, log_old, advantages, mask) * torch.where(candidates, 1 - dropped, 1.0)

    return surrogate


Weight = Callable[[Tensor, Tensor], Tensor]
"""(log sg(pi)/sampler, mask), (batch, tokens) each -> weights."""


def truncated(most: float, least: float = 0.0) -> Weight:
    """TIS: clip(sg(pi)/sampler, least, most) of each token."""
    return lambda log_ratio, mask: torch.exp(log_ratio).clamp(least, most)


def kept_within(least: float, most: float, *, of: str = "token") -> Weight:
    """sg(pi)/sampler of each token, and 0 where a ratio is not in [least, most].

    of: "token" (IcePop), "sequence" for the product over an answer, which then is the weight of its tokens,
    or "mean" for its geometric mean (seq-mask-tis).
    """

    def weight(log_ratio: Tensor, mask: Tensor) -> Tensor:
        whole = (log_ratio * mask).sum(dim=-1, keepdim=True)
        mean = whole / mask.sum(dim=-1, keepdim=True).clamp(min=1)
        judged = torch.exp({"token": log_ratio, "sequence": whole, "mean": mean}[of])
        ratio = judged if of == "sequence" else torch.exp(log_ratio)
        return torch.where((judged >= least) & (judged <= most), ratio, torch.zeros_like(ratio))

    return weight


def without_far_failures(surrogate: Surrogate, most: float) -> Surrogate:
    """OPSM: the surrogate without answers of A < 0 whose mean log(old/pi) is above `most`."""

    def masked(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        far = -sequence_log_ratio(log_pi.detach(), log_old, mask) > most
        return surrogate(log_pi, log_old, advantages, mask) * ~(far & (advantages < 0))

    return masked


def corrected_for_the_sampler(surrogate: Surrogate, weight: Weight) -> Surrogate:
    """The surrogate with old the policy, times the weight of sg(pi)/sampler; `log_old` is the sampler's.

    What a trainer does whose samples come from another engine than its own log-probabilities.
    """

    def corrected(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        held = log_pi.detach()
        return weight(held - log_old, mask) * surrogate(log_pi, held, advantages, mask)

    return corrected
