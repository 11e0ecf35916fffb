"""KL terms and rehearsal losses of others as their code computes them, clamps and numerics included.

Tensors are (batch, tokens), natural logarithms, x = log(pi/ref) of a sampled token. A loss is the mean over
the tokens that count unless it says otherwise. What overflows in the code that is re-stated overflows here.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from ..support.errors import choice
from .kl_terms import ESTIMATORS

Loss = Callable[..., Tensor]
"""Some of (log_pi, log_ref, log_old, advantages, mask), each (batch, tokens), by name -> a scalar."""
Reduce = Callable[[Tensor, Tensor], Tensor]
"""(values, mask), each (batch, tokens) -> a scalar."""


def unmasked(values: Tensor, mask: Tensor) -> Tensor:
    """The values of the tokens that count; zero for the others, which may hold anything."""
    return torch.where(mask > 0, values, torch.zeros_like(values))


def token_mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over the tokens that count."""
    return unmasked(values, mask).sum() / mask.sum()


def sequence_mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over each sequence's tokens, then over sequences."""
    return ((values * mask).sum(dim=-1) / mask.sum(dim=-1).clamp(min=1)).mean()


def sequence_sum(values: Tensor, mask: Tensor) -> Tensor:
    """The sum over each sequence's tokens, then the mean over sequences."""
    return unmasked(values, mask).sum(dim=-1).mean()


REDUCTIONS: Mapping[str, Reduce] = MappingProxyType(
    {
        "token_mean": token_mean,
        "sequence_mean": sequence_mean,
        "sequence_sum": sequence_sum,
        "sum": lambda values, mask: (values * mask).sum(),
    }
)
"""How values of tokens become one number; `losses.REDUCTIONS` have the same names."""


def clamped(estimator: str, x: Tensor, inner: float | None = None, outer: float | None = None) -> Tensor:
    """The estimate with x clamped to +-inner, and the result to +-outer; None is no clamp."""
    return bounded(ESTIMATORS[estimator].value(torch, bounded(x, inner)), outer)


def bounded(values: Tensor, limit: float | None) -> Tensor:
    """The values clamped to +-limit; None is no clamp."""
    return values if limit is None else values.clamp(-limit, limit)


class _Term(NamedTuple):
    """A batch's tensors and the clamped estimate that a place puts into a loss."""

    log_pi: Tensor
    log_ref: Tensor
    log_old: Tensor
    mask: Tensor
    estimator: str
    inner: float | None
    outer: float | None

    @property
    def x(self) -> Tensor:
        return self.log_pi - self.log_ref

    @property
    def value(self) -> Tensor:
        return clamped(self.estimator, self.x, self.inner, self.outer)

    @property
    def cost(self) -> Tensor:
        """The estimate held fixed."""
        return unmasked(self.value.detach(), self.mask)

    @property
    def ratio(self) -> Tensor:
        return torch.exp(self.log_pi - self.log_old)

    @property
    def answer_ratio(self) -> Tensor:
        """The geometric mean of an answer's ratios."""
        summed = unmasked(self.log_pi - self.log_old, self.mask).sum(dim=-1, keepdim=True)
        return torch.exp(summed / self.mask.sum(dim=-1, keepdim=True))

    @property
    def clamped_product(self) -> Tensor:
        """The ratio times the estimate, clamped after; where x is clamped the ratio is held fixed too."""
        ratio = self.ratio
        if self.inner is not None:
            ratio = torch.where(self.x.abs() <= self.inner, ratio, ratio.detach())
        return bounded(ratio * clamped(self.estimator, self.x, self.inner), self.outer)


_OF_TOKENS: Mapping[str, Callable[[_Term], Tensor]] = MappingProxyType(
    {
        "loss": lambda t: t.value,
        "straight through": lambda t: t.x**2 / 2 - (t.x**2 / 2).detach() + t.value.detach(),
        "ratio": lambda t: t.ratio * t.value,
        "held ratio": lambda t: t.ratio.detach() * t.value,
        "score": lambda t: t.ratio * t.value,
        "clamped ratio": lambda t: t.clamped_product,
        "clamped score": lambda t: t.clamped_product,
        "answer ratio": lambda t: t.answer_ratio * t.value,
        "ratio, held estimate": lambda t: t.ratio * t.cost,
        "reward": lambda t: t.log_pi * t.cost.sum(dim=-1, keepdim=True),
        "reward to go": lambda t: t.log_pi * t.cost.flip(-1).cumsum(-1).flip(-1),
        "own reward": lambda t: t.log_pi * t.cost,
        "sampler": lambda t: 2 * t.value,
    }
)
PLACES = tuple(_OF_TOKENS)
"""How an estimate enters the loss: in it; its value with the gradient of x^2/2; times pi/old (differentiated,
held fixed, as the score e^(log pi - sg log pi), clamped after the product, one ratio an answer, or
with the estimate held fixed and summed over tokens); or as a cost of the policy gradient, summed over tokens:
the whole answer's, each token's with those that follow, or its own. "sampler": twice the estimate to old."""
_SUMMED = ("ratio, held estimate", "reward", "reward to go", "own reward", "sampler")
_WITH_OLD = ("ratio", "held ratio", "clamped ratio", "answer ratio", "ratio, held estimate")


def kl_term(
    place: str, estimator: str = "k3", *, inner: float | None = None, outer: float | None = None
) -> Loss:
    """A KL term as trainers write it: an estimate of a token, its clamps, and how it enters the loss.

    Parameters: `place`, one of PLACES (say "loss", or "ratio" for pi/old times the estimate); `estimator`,
    one of `kl_terms.ESTIMATORS`; x is clamped to +-`inner` and the estimate to +-`outer` (in the places
    "clamped ratio" and "clamped score" the product is). Returns a function of some of (log_pi, log_ref,
    log_old, mask), each (batch, tokens), to a scalar in nats. Raises ValueError for another place or
    estimator. Source: schulman2020kl; the trainers' code, see `dph_theory.losses.kl_terms`.

    >>> k3 = kl_term("loss", "k3")
    >>> k3(torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.)
    """
    choice("place", place, PLACES)
    choice("estimator", estimator, ESTIMATORS)
    reduce = sequence_sum if place in _SUMMED else token_mean

    def off_policy(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        return reduce(_OF_TOKENS[place](_Term(log_pi, log_ref, log_old, mask, estimator, inner, outer)), mask)

    def on_policy(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return off_policy(log_pi, log_ref, log_pi.detach(), mask)

    def to_sampler(log_pi: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        return off_policy(log_pi, log_old, log_old, mask)

    if place == "sampler":
        return to_sampler
    return off_policy if place in _WITH_OLD else on_policy


def released_forward(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `forward`: u - 1 - log u, u = pi/ref, log u within +-20, the result +-10.

    log_pi, log_ref, mask (batch, tokens); returns the mean over tokens, in nats. Source: li2025choice, the
    released code.

    >>> float(released_forward(torch.zeros(1, 1), torch.tensor([[-30.0]]), torch.ones(1, 1)))
    10.0
    """
    return token_mean(clamped("k3", log_ref - log_pi, 20.0, 10.0), mask)


def released_half_js(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `js`: the same with (pi + ref)/2 for pi, one of the two halves of JS.

    Shapes, value and source as `released_forward`.
    """
    return released_forward(torch.log((torch.exp(log_ref) + torch.exp(log_pi)) / 2), log_ref, mask)


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
