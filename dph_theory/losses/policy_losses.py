"""Policy losses: this package's clipped surrogate, and those of trainers as their code computes them.

`ppo_clip_loss` bounds log r before the exponential. `policy_loss` adds up a surrogate as trainers write it,
overflow included, because the audits report it. r = pi/old of a token, A its advantage, sg stops the gradient
of its argument; tensors are (batch, tokens); a surrogate is maximised. POLICY_LOSSES lists trainers' losses
by version (or commit), file and setting, from policy_losses.txt.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..support.errors import argument_error, choice
from .generator import Loss, log_ratio
from .inputs import TokenMask, Tokens, floats, number, token_batch
from .kl_terms import Setting, bounded, rows
from .methods import LEVELS, REDUCTIONS
from .reductions import at_level, reduced, weighted_sum, weights, working_dtype


def ppo_clip_loss(
    log_pi: Tokens,
    log_old: Tokens,
    advantages: Tensor,
    mask: TokenMask,
    *,
    clip_low: float,
    clip_high: float,
    level: str = "token",
    dual_clip: float | None = None,
    reduction: str = "token_mean",
) -> Tensor:
    """Clipped surrogate loss: mean of -min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), r = pi/pi_old.

    Args:
        log_pi: Log-probabilities of the policy, shape (batch, tokens); only these are differentiated.
        log_old: Log-probabilities of the sampling policy, same shape.
        advantages: Shape (batch,), or (batch, tokens) at the token level; 0 contributes 0 at any ratio.
        mask: True at the tokens that count, shape (batch, tokens).
        clip_low: Clip below 1, in (0, 1).
        clip_high: Clip above 1, positive.
        level: "token" for each token's ratio, "sequence" for the product over the row's tokens.
        dual_clip: Bound on r where A < 0, above 1.
        reduction: Weights of the terms, as in `reductions.weights`.

    Returns:
        A scalar to minimise, with the dtypes of `generator_loss`.

    Raises:
        ValueError: For a number or name out of range, bad shapes, integers, or a fully masked batch.

    Source: shao2024grpo; the asymmetric clip and the token mean: yu2025dapo.
    """
    choice("level", level, LEVELS)
    low = math.log1p(-number("clip_low", clip_low, above=0, below=1))
    high = math.log1p(number("clip_high", clip_high, above=0))
    ceiling = math.inf if dual_clip is None else math.log(number("dual_clip", dual_clip, above=1))
    mask = token_batch(mask, log_pi=log_pi, log_old=log_old)
    shaped = _shaped(advantages, mask, level)
    terms, (pi, old) = at_level(level, mask, log_pi, log_old)
    weight = weights(mask, level, reduction, working_dtype(log_pi, log_old, advantages))

    def surrogate(log_pi: Tensor, log_old: Tensor, advantage: Tensor) -> tuple[Tensor, Tensor]:
        # min(r A, clip(r) A) bounds r from above where A > 0 and from below where A < 0. Bounding log r
        # before the exponential prevents infinities of the unused side in value and slope.
        x = torch.where(advantage == 0, 0.0, log_ratio(log_pi, log_old))
        least, most = torch.full_like(x, -math.inf), torch.full_like(x, high)
        least[advantage < 0] = low
        most[advantage < 0] = ceiling
        bounded = x.maximum(least).minimum(most)
        value = -advantage * bounded.exp()
        return value, torch.where(bounded == x, value, 0.0)

    return weighted_sum(surrogate, terms, weight, pi, old, shaped)


def _shaped(advantages: Tensor, mask: TokenMask, level: str) -> Tensor:
    if isinstance(advantages, Tensor) and advantages.ndim == 2 and level == "token":
        floats("advantages", advantages, ("batch", "tokens"))
        allowed, shaped = mask.shape, advantages
    else:
        floats("advantages", advantages, ("batch",))
        allowed, shaped = mask.shape[:1], advantages[:, None]
    if advantages.shape != allowed:
        required = f"must match mask's {tuple(mask.shape)}"
        raise argument_error("advantages.shape", tuple(advantages.shape), required)
    return shaped.expand(mask.shape) if level == "token" else shaped


class Sampled(NamedTuple):
    """A batch of sampled tokens, the input of a surrogate; all tensors have shape (batch, tokens)."""

    log_pi: Tensor
    log_old: Tensor
    advantages: Tensor
    mask: Tensor

    @property
    def x(self) -> Tensor:
        """Log-ratio of the policy to the sampling policy, shape (batch, tokens)."""
        return self.log_pi - self.log_old

    def ratio(self, inner: float | None = None) -> Tensor:
        """Ratio r = pi/pi_old, (batch, tokens), with |log r| clamped at `inner` if that is given."""
        return torch.exp(bounded(self.x, inner))

    def mean(self, values: Tensor) -> Tensor:
        """Mean of the values over each answer, (batch, 1)."""
        counts = self.mask.sum(dim=-1, keepdim=True).clamp(min=1)
        return (values * self.mask).sum(dim=-1, keepdim=True) / counts

    def by_sign(self, up: Tensor, down: Tensor) -> Tensor:
        """`up` at tokens with A > 0, else `down`; shape (batch, tokens)."""
        return torch.where(self.advantages > 0, up, down)

    @property
    def moved(self) -> Tensor:
        """Change of each token's probability since sampling, pi - pi_old, shape (batch, tokens)."""
        return torch.exp(self.log_pi.detach()) - torch.exp(self.log_old)

    @property
    def covariances(self) -> Tensor:
        """(A - mean A)(log pi - mean log pi), means over the batch's tokens; -inf at masked tokens."""
        counts = self.mask > 0
        advantages, log_pi = (
            values - torch.where(counts, values, 0 * values).sum() / self.mask.sum()
            for values in (self.advantages, self.log_pi.detach())
        )
        return torch.where(counts, advantages * log_pi, -torch.inf)


Surrogate = Callable[[Sampled], Tensor]  # Maps a batch to each token's contribution, (batch, tokens).
LOG_RATIOS: Mapping[str, Surrogate] = MappingProxyType(
    {
        "token": lambda b: b.x,
        "sequence": lambda b: b.mean(b.x).expand_as(b.x),
        "answer": lambda b: (b.x * b.mask).sum(dim=-1, keepdim=True).expand_as(b.x),
        "held": lambda b: (b.log_pi - b.log_pi.detach() + b.mean(b.x).detach()).clamp(max=10.0),
    }
)
"""log r of a token; its sequence's mean; sum; detached mean, at most 10, with the token's slope."""


def clip(
    b: Sampled,
    *,
    low: float = 0.2,
    high: float = 0.2,
    inner: float | None = None,
    dual: float | None = None,
    delta: float | None = None,
    level: str = "token",
) -> Tensor:
    """Minimum of r A and r A with r clipped to [1-low, 1+high], log r within +-inner.

    level: meaning of r, a key of LOG_RATIOS; dual: for A < 0 at least dual A; delta: clamp of r in the first
    term.
    """
    ratio = torch.exp(bounded(LOG_RATIOS[level](b), inner))
    first = ratio if delta is None else ratio.clamp(max=delta)
    least = torch.minimum(first * b.advantages, ratio.clamp(1 - low, 1 + high) * b.advantages)
    if dual is None:
        return least
    return torch.where(b.advantages < 0, torch.maximum(least, dual * b.advantages), least)


def reinforce(b: Sampled) -> Tensor:
    """REINFORCE's surrogate of each token, A log pi, shape (batch, tokens)."""
    return b.advantages * b.log_pi


def _scored(b: Sampled, weight: Tensor) -> Tensor:
    return weight.detach() * b.advantages * b.log_pi


def cispo(b: Sampled, *, high: float, low: float | None = None, inner: float | None = None) -> Tensor:
    """CISPO's surrogate of each token, sg(clip(r, low, high)) A log pi; |log r| clamped at `inner`."""
    return _scored(b, b.ratio(inner).clamp(min=low, max=high))


def sapo(b: Sampled, *, positive: float = 1.0, negative: float = 1.05, inner: float | None = None) -> Tensor:
    """SAPO's surrogate of each token, (4/t) sigmoid(t (r - 1)) A, with t by the sign of A."""
    t = torch.where(b.advantages > 0, positive, negative)
    return 4 / t * torch.sigmoid(t * (b.ratio(inner) - 1)) * b.advantages


def vespo(b: Sampled) -> Tensor:
    """VESPO's surrogate per token: sg(w^k e^{l (1-w)}) A log pi, w the answer's ratio; k, l by A's sign."""
    log_w = (bounded(b.x, 20) * b.mask).sum(dim=-1, keepdim=True).clamp(-18.420680743952367, 20)
    k, rate = (torch.where(b.advantages >= 0, *pair) for pair in ((2.0, 3.0), (3.0, 2.0)))
    return _scored(b, torch.exp(rate + k * log_w - rate * torch.exp(log_w)))


def geo_mean(b: Sampled) -> Tensor:
    """GMPO's surrogate per token: A exp(mean over the answer of log r, clipped to +-0.2 on A's side)."""
    sign = torch.sign(b.advantages)
    near = sign * torch.minimum(sign * b.x, sign * bounded(b.x, 0.2))
    return torch.exp(b.mean(near)).expand_as(b.x) * b.advantages


def dppo_tv(b: Sampled, *, limit: float = 0.2) -> Tensor:
    """DPPO's surrogate per token: sg(min(r, 3)) A log pi, 0 once pi moved over `limit` in A's direction."""
    return cispo(b, high=3.0, inner=20) * ~b.by_sign(b.moved > limit, b.moved < -limit)


def dppo_kl(b: Sampled, *, limit: float = 0.2) -> Tensor:
    """DPPO's surrogate per token, 0 once KL(old || pi) of {token, rest} exceeds `limit` in A's direction."""
    log_pi = b.log_pi.detach()
    pi, old = torch.exp(log_pi), torch.exp(b.log_old)
    rest = torch.log((1 - old + 1e-8) / (1 - pi + 1e-8))
    beyond_limit = old * (b.log_old - log_pi) + (1 - old) * rest > limit
    return cispo(b, high=3.0, inner=20) * ~(beyond_limit & b.by_sign(pi > old, pi < old))


def masked(b: Sampled, *, limit: float, tau: float = 1e-3, directions: str = "one") -> Tensor:
    """Per token r A - tau (log r)^2, r A only while |pi - old| <= `limit` in A's direction (or in both)."""
    beyond = b.by_sign(b.moved > limit, b.moved < -limit) if directions == "one" else b.moved.abs() > limit
    return ~beyond * b.ratio() * b.advantages - tau * b.x**2


def dro(b: Sampled, *, beta: float) -> Tensor:
    """DRO's surrogate of each token, A log pi - beta (log r)^2 / 2, shape (batch, tokens)."""
    return reinforce(b) - beta / 2 * b.x**2


def kl_cov(b: Sampled, *, share: float = 0.0002, coefficient: float = 0.1) -> Tensor:
    """KL-Cov's surrogate per token: r A, minus coefficient |log r| at the `share` of largest covariance."""
    flat = b.covariances.flatten()
    count = max(1, int(float(b.mask.sum()) * share))
    chosen = torch.zeros_like(flat).scatter(0, flat.topk(count).indices, 1.0).reshape(b.x.shape)
    return b.ratio() * b.advantages - coefficient * b.x.abs() * chosen


def clip_cov(b: Sampled, *, share: float = 0.0002, low: float = 1.0, high: float = 5.0) -> Tensor:
    """Clip-Cov's surrogate per token: clipped, without tokens drawn from those of covariance in (low, high).

    The number drawn is the share of the batch's tokens, at least one; the result averages over the draw.
    """
    ratio = b.ratio().detach()
    stopped = ratio * b.advantages > ratio.clamp(0.8, 1.2) * b.advantages
    candidates = (b.covariances > low) & (b.covariances < high) & ~stopped
    drawn = max(1, int(float(b.mask.sum()) * share))
    dropped = min(1.0, drawn / max(1, int(candidates.sum())))
    return clip(b) * torch.where(candidates, 1 - dropped, 1.0)


def opsm(b: Sampled, *, most: float) -> Tensor:
    """OPSM's surrogate per token: clipped, 0 in answers of A < 0 whose mean log(old/pi) exceeds `most`."""
    drifted = -b.mean(b.x.detach()).expand_as(b.x) > most
    return clip(b) * ~(drifted & (b.advantages < 0))


def truncated(b: Sampled, *, most: float, least: float = 0.0) -> Tensor:
    """TIS's surrogate per token: clip(sg(pi)/sampler, least, most) times the clipped one with pi as old.

    Trainers use it if samples come from another engine, whose log-probabilities are then log_old.
    """
    return b.ratio().detach().clamp(least, most) * _on_policy(b)


def within_bounds(b: Sampled, *, least: float, most: float, level: str = "token") -> Tensor:
    """The clipped surrogate times sg(pi)/sampler of each token, 0 where a ratio is outside [least, most].

    level: "token" (IcePop), "sequence" for the product over an answer, which then weighs its tokens, or
    "mean" for its geometric mean (seq-mask-tis).
    """
    log_ratio = b.x.detach()
    of_answer = (log_ratio * b.mask).sum(dim=-1, keepdim=True)
    judged = torch.exp({"token": log_ratio, "sequence": of_answer, "mean": b.mean(log_ratio)}[level])
    ratio = judged if level == "sequence" else torch.exp(log_ratio)
    return torch.where((judged >= least) & (judged <= most), ratio, torch.zeros_like(ratio)) * _on_policy(b)


def _on_policy(b: Sampled) -> Tensor:
    return clip(b._replace(log_old=b.log_pi.detach()))


_FORMS = (clip, reinforce, cispo, sapo, vespo, geo_mean, dppo_tv, dppo_kl, masked, dro, kl_cov, clip_cov)
SURROGATES: Mapping[str, Callable[..., Tensor]] = MappingProxyType(
    {form.__name__: form for form in (*_FORMS, opsm, truncated, within_bounds)}
)  # By name; each takes a batch and its own settings.


def policy_loss(form: str, reduction: str = "token_mean", *, length: float = 1, **settings: Any) -> Loss:
    """Build minus a surrogate, reduced to a scalar.

    Parameters: `form`, one of SURROGATES, and its `settings`; `reduction`, one of `losses.REDUCTIONS`, over a
    fixed `length`. Returns a function of (log_pi, log_old, advantages, mask), each (batch, tokens), to a
    scalar. Raises ValueError for another form or reduction.
    """
    choice("form", form, SURROGATES)
    choice("reduction", reduction, REDUCTIONS)

    def loss(log_pi: Tensor, log_old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        values = SURROGATES[form](Sampled(log_pi, log_old, advantages, mask), **settings)
        return -reduced(values, mask, reduction) / length

    return loss


METHODS = {
    "clip.*level=held": "GSPO-token",
    "clip.*level=sequence .*sequence_sum": "LUSPO",
    "clip.*level=sequence": "GSPO",
    "(clip low=1 high|truncated most)=1e30": "importance sampling",
    "clip.*dual": "dual-clip PPO",
    "clip.*delta": "two-sided clipping",
    "clip.*token_mean": "DAPO",
    "clip.*sequence_mean": "GRPO",
    "clip.*sequence_sum": "Dr. GRPO",
    "reinforce": "REINFORCE",
    "cispo": "CISPO",
    "sapo": "SAPO",
    "vespo": "VESPO",
    "geo_mean": "GMPO",
    "dppo": "DPPO",
    "masked": "a masked ratio",
    "dro": "DRO",
    "kl_cov": "KL-Cov",
    "clip_cov": "Clip-Cov",
    "opsm": "OPSM",
    "truncated": "TIS",
    "within_bounds": "IcePop",
}
"""Names of methods, by a pattern of surrogate and reduction; the first match counts."""


@dataclass(frozen=True)
class PolicyForm(Setting):
    """A trainer's policy loss under one setting: the arguments of `policy_loss` as text."""

    formula: str
    surrogate: str
    reduction: str
    samples: str = "policy"

    @property
    def words(self) -> str:
        """Title such as "CISPO as TRL 1.16 has it (loss_type=cispo)"."""
        key = f"{self.surrogate} {self.reduction}"
        method = next(name for pattern, name in METHODS.items() if re.match(pattern, key))
        return f"{method} as {self.trainer} {self.version} has it ({self.flags.removesuffix(' (default)')})"

    @property
    def loss(self) -> Loss:
        """The loss as a function of log_pi, log_old, advantages, mask, (batch, tokens), to a scalar."""
        form, *assignments = self.surrogate.split()
        reduction, *length = self.reduction.split()
        settings = dict(assignment.split("=") for assignment in assignments)
        numbers = {name: float(value) for name, value in settings.items() if not value.isalpha()}
        return policy_loss(form, reduction, length=float(*length or (1,)), **{**settings, **numbers})


POLICY_LOSSES: tuple[PolicyForm, ...] = tuple(
    PolicyForm(*source, formula, surrogate, reduction, "old_policy" if old else "policy")
    for source, (formula, surrogate, reduction, *old), _ in rows("policy_losses.txt")
)  # By trainer, version or commit, file and setting.
