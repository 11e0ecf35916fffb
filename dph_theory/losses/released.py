"""Losses of others as their code computes them, clamps and numerics included: KL terms and rehearsal losses.

Tensors are (batch, tokens), natural logarithms, x = log(pi/ref) of a sampled token. A loss is the mean over
the tokens that count unless it says otherwise. What overflows in the code that is re-stated overflows here.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from ..support.errors import choice

Loss = Callable[..., Tensor]
"""Some of (log_pi, log_ref, log_old, mask), each (batch, tokens), by name -> a scalar."""
Estimator = Callable[[Tensor, Tensor], Tensor]
"""(log_pi, log_ref) -> an estimate a token."""


def kept(values: Tensor, mask: Tensor) -> Tensor:
    """The values of the tokens that count; zero for the others, which may hold anything."""
    return torch.where(mask > 0, values, torch.zeros_like(values))


def token_mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over the tokens that count."""
    return kept(values, mask).sum() / mask.sum()


def answer_sum(values: Tensor, mask: Tensor) -> Tensor:
    """The sum over each answer's tokens, then the mean over the answers."""
    return kept(values, mask).sum(dim=-1).mean()


def _k1(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    return log_pi - log_ref


def _k2(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    return (log_pi - log_ref) ** 2 / 2


def _k3(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    return torch.exp(log_ref - log_pi) - 1 - (log_ref - log_pi)


def _absolute(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    return (log_pi - log_ref).abs()


ESTIMATORS: Mapping[str, Estimator] = MappingProxyType({"k1": _k1, "k2": _k2, "k3": _k3, "abs": _absolute})
"""x, x^2/2, e^-x - 1 + x and |x|."""


def clamped(estimate: Estimator, inner: float | None, outer: float | None) -> Estimator:
    """The estimate with x clamped to +-inner, and the result to +-outer; None is no clamp."""

    def found(log_pi: Tensor, log_ref: Tensor) -> Tensor:
        if inner is not None:
            log_pi, log_ref = (log_pi - log_ref).clamp(-inner, inner), torch.zeros_like(log_ref)
        value = estimate(log_pi, log_ref)
        return value if outer is None else value.clamp(-outer, outer)

    return found


def kl_term(
    place: str, estimator: str = "k3", *, inner: float | None = None, outer: float | None = None
) -> Loss:
    """A KL term as trainers write it: an estimate of a token, its clamps, and how it enters the loss.

    Parameters: `place`, one of PLACES (say "loss", or "ratio" for pi/old times the estimate); `estimator`,
    one of ESTIMATORS; x is clamped to +-`inner` and the estimate to +-`outer` (in the places "clamped ratio"
    and "clamped score" the product is). Returns a function of some of (log_pi, log_ref, log_old, mask), each
    (batch, tokens), to a scalar in nats. Raises ValueError for another place or estimator.
    Source: schulman2020kl; the trainers' code, see `dph_theory.methods.kl_terms`.

    >>> k3 = kl_term("loss", "k3")
    >>> k3(torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.)
    """
    choice("place", place, PLACES)
    choice("estimator", estimator, ESTIMATORS)
    return PLACES[place](ESTIMATORS[estimator], inner, outer)


_Clamp = float | None


def _in_loss(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return token_mean(clamped(estimate, inner, outer)(log_pi, log_ref), mask)

    return loss


def _straight_through(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        square, value = _k2(log_pi, log_ref), clamped(estimate, inner, outer)(log_pi, log_ref)
        return token_mean(square - square.detach() + value.detach(), mask)

    return loss


def _by_ratio(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        return token_mean(
            torch.exp(log_pi - log_old) * clamped(estimate, inner, outer)(log_pi, log_ref), mask
        )

    return loss


def _by_held_ratio(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        ratio = torch.exp(log_pi - log_old).detach()
        return token_mean(ratio * clamped(estimate, inner, outer)(log_pi, log_ref), mask)

    return loss


def _by_score(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return _by_ratio(estimate, inner, outer)(log_pi, log_ref, log_pi.detach(), mask)

    return loss


def _clamped_ratio(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        ratio = torch.exp(log_pi - log_old)
        if inner is not None:
            # Where x is clamped the ratio is held fixed too.
            ratio = torch.where(_absolute(log_pi, log_ref) <= inner, ratio, ratio.detach())
        found = ratio * clamped(estimate, inner, None)(log_pi, log_ref)
        return token_mean(found if outer is None else found.clamp(-outer, outer), mask)

    return loss


def _clamped_score(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return _clamped_ratio(estimate, inner, outer)(log_pi, log_ref, log_pi.detach(), mask)

    return loss


def _by_answer_ratio(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        log_ratio = kept(log_pi - log_old, mask).sum(dim=-1, keepdim=True) / mask.sum(dim=-1, keepdim=True)
        return token_mean(torch.exp(log_ratio) * clamped(estimate, inner, outer)(log_pi, log_ref), mask)

    return loss


def _held_by_ratio(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        cost = clamped(estimate, inner, outer)(log_pi, log_ref).detach()
        return answer_sum(torch.exp(log_pi - log_old) * cost, mask)

    return loss


def _in_reward(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        cost = kept(clamped(estimate, inner, outer)(log_pi, log_ref).detach(), mask)
        return answer_sum(log_pi * cost.sum(dim=-1, keepdim=True), mask)

    return loss


def _in_reward_to_go(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        cost = kept(clamped(estimate, inner, outer)(log_pi, log_ref).detach(), mask)
        return answer_sum(log_pi * cost.flip(-1).cumsum(-1).flip(-1), mask)

    return loss


def _in_own_reward(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return answer_sum(log_pi * clamped(estimate, inner, outer)(log_pi, log_ref).detach(), mask)

    return loss


def _to_sampler(estimate: Estimator, inner: _Clamp, outer: _Clamp) -> Loss:
    def loss(log_pi: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        return answer_sum(2 * clamped(estimate, inner, outer)(log_pi, log_old), mask)

    return loss


PLACES: Mapping[str, Callable[[Estimator, _Clamp, _Clamp], Loss]] = MappingProxyType(
    {
        "loss": _in_loss,
        "straight through": _straight_through,
        "ratio": _by_ratio,
        "held ratio": _by_held_ratio,
        "score": _by_score,
        "clamped ratio": _clamped_ratio,
        "clamped score": _clamped_score,
        "answer ratio": _by_answer_ratio,
        "ratio, held estimate": _held_by_ratio,
        "reward": _in_reward,
        "reward to go": _in_reward_to_go,
        "own reward": _in_own_reward,
        "sampler": _to_sampler,
    }
)
"""How an estimate enters the loss: in it; its value with the gradient of x^2/2; times pi/old (differentiated,
held fixed, as the score e^(log pi - sg log pi), clamped after the product, one ratio an answer, or
with the estimate held fixed and summed over tokens); or as a cost of the policy gradient, summed over tokens:
the whole answer's, each token's with those that follow, or its own. "sampler": twice the estimate to old."""


def pseudo_reward_loss(slope: Callable[[Tensor], Tensor]) -> Loss:
    """Policy gradient with the pseudo-reward -f'(pi/ref) of the whole answer, held fixed.

    Parameters: `slope`, x = log(pi/ref) of the answer -> f'(e^x). Returns a function of (log_pi, log_ref,
    mask), each (batch, tokens), to a scalar, the mean over answers. Source: go2023fdpg.
    """

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        total = kept(log_pi, mask).sum(dim=-1)
        x = (total - kept(log_ref, mask).sum(dim=-1)).detach()
        return (total * slope(x)).mean()

    return loss


_BOUNDED_K3 = clamped(_k3, 20.0, 10.0)


def released_forward(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `forward`: u - 1 - log u, u = pi/ref, log u within +-20, the result +-10.

    log_pi, log_ref, mask (batch, tokens); returns the mean over tokens, in nats. Source: li2025choice, the
    released code.

    >>> float(released_forward(torch.zeros(1, 1), torch.tensor([[-30.0]]), torch.ones(1, 1)))
    10.0
    """
    return token_mean(_BOUNDED_K3(log_ref, log_pi), mask)


def released_half_js(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `js`: the same with (pi + ref)/2 for pi, one of the two halves of JS.

    Shapes, value and source as `released_forward`.
    """
    log_mixture = torch.log((torch.exp(log_ref) + torch.exp(log_pi)) / 2)
    return token_mean(_BOUNDED_K3(log_ref, log_mixture), mask)


def released_js(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `js_low_var`: u log u - (u+1) log((u+1)/2), u log u a product.

    Shapes, value and source as `released_forward`; nan where u overflows or is 0.
    """
    u = torch.exp(log_pi - log_ref)
    return token_mean(u * torch.log(u) - (u + 1) * torch.log((u + 1) / 2), mask)


def released_alpha(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `alpha`: (u^(1-a) - (1-a) u - a)/(a (a-1)) at a = 0.2, by a power of u.

    Shapes, value and source as `released_forward`; nan where u overflows.
    """
    u, alpha = torch.exp(log_pi - log_ref), 0.2
    return token_mean((u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1)), mask)
