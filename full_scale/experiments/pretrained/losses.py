"""Losses of a training on open prompts: in expectation over all answers, and on samples."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dph_theory.divergences import FORWARD_KL
from dph_theory.losses import (
    MAXRL,
    METHODS,
    TARGETED,
    Method,
    Penalty,
    alpha_dpg_rewards,
    dph_loss,
    generator_loss,
)
from dph_theory.losses.kl_terms import DESCENDING, KL_FORMS
from dph_theory.losses.penalty import PENALTIES
from dph_theory.support.errors import choice

from .reading import LogProbs
from .runs import OpenRun

FORMS = ("reward", *(name for name in DESCENDING if KL_FORMS[name].token))
"""Forms of the KL: of the whole answer in the reward, or an estimate of each token's in the loss."""


def expected_loss(
    log_pi: LogProbs,
    log_ref: LogProbs,
    words: Int[Tensor, " words"],
    valid: Bool[Tensor, "texts ..."],
    *,
    form: str,
    beta: float,
) -> Float[Tensor, ""]:
    """Scalar whose gradient is minus the expected policy gradient of v with that KL, over all answers.

    The mean over texts of -sum_y q(y) (v(y) - E_q v - beta times the penalty's part) log pi(y), with q the
    policy itself, by enumeration. In the loss the part of a token is the slope of the library's estimate
    (`losses.kl_penalty`), in the reward the log-ratio of the whole answer. An answer ends with the first
    token that is not a word. Raises ValueError for another form.
    """
    choice("form", form, FORMS)
    drawn = [table.detach().exp() for table in log_pi]
    ratios = [(pi - ref).detach() for pi, ref in zip(log_pi, log_ref, strict=True)]
    values = valid.to(log_pi[0].dtype)
    coefficients: list[Tensor] = []
    for pi, ref, q, x in reversed([*zip(log_pi, log_ref, drawn, ratios, strict=True)]):
        gain = torch.zeros_like(q).index_copy(-1, words, values)
        if form == "reward":
            gain = gain - beta * x
        values = (q * gain).sum(dim=-1)
        if form != "reward":
            log_old = (pi.detach(),) if form == "k3_corrected" else ()
            gain = gain - beta * PENALTIES[form](pi.detach(), ref, *log_old)[1]
        coefficients.insert(0, gain)
    mean, reach, paid = values, torch.ones_like(values), torch.zeros_like(values)
    loss = torch.zeros((), dtype=log_pi[0].dtype)
    for pi, q, x, gain in zip(log_pi, drawn, ratios, coefficients, strict=True):
        start = mean.reshape(mean.shape + (1,) * (q.ndim - 1))
        weight = reach[..., None] * q * (gain - start - paid[..., None])
        loss = loss - (weight * pi).sum() / len(pi)
        reach = (reach[..., None] * q)[..., words]
        if form == "reward":
            paid = (paid[..., None] + beta * x)[..., words]
    return loss


METHODS_BY_NAME: Mapping[str, Method] = MappingProxyType(
    {
        **METHODS,
        "MaxRL": MAXRL,
        "Dr. GRPO": replace(TARGETED["KL-control"], penalty=None),
        "KL-DPG": TARGETED["KL-DPG"],
    }
)
"""Methods of runs on samples, each without its own KL: the run's form of the KL is added."""


def method_of(run: OpenRun) -> Method:
    """Method of the run, with the run's KL if it has one."""
    choice("method", run.method, METHODS_BY_NAME)
    penalty = None if run.kl == "none" else Penalty(run.kl, run.coefficient)
    return replace(METHODS_BY_NAME[run.method], penalty=penalty)


@dataclass(frozen=True, eq=False)
class Prompts:
    """Prompts of one-token answers: base probabilities, correct answers, and the rehearsed prompts."""

    log_ref: Float[Tensor, "prompts vocabulary"]
    valid: Bool[Tensor, "prompts vocabulary"]
    rehearsed: Bool[Tensor, " prompts"]
    stored: Int[Tensor, "rehearsed answers"]  # Correct answers of the base.


def sampled_loss(
    log_pi: Float[Tensor, "prompts vocabulary"],
    prompts: Prompts,
    method: Method,
    coefficient: float,
    *,
    size: int,
    generator: torch.Generator,
) -> Float[Tensor, ""]:
    """Loss of the method on `size` sampled answers per prompt, by the losses of `dph_theory.losses`.

    Prompts of a rehearsal are not explored, as in DPH: their stored correct answers enter the rehearsal loss.
    Groups of equal rewards are dropped if the method does so.
    """
    explored = ~prompts.rehearsed if method.rehearsal else torch.ones_like(prompts.rehearsed)
    own, ref = log_pi[explored], prompts.log_ref[explored]
    drawn = torch.multinomial(own.detach().exp(), size, replacement=True, generator=generator)
    valid = prompts.valid[explored].gather(1, drawn)
    log_p, log_r = own.gather(1, drawn), ref.gather(1, drawn)
    rewards = valid.to(log_p.dtype)
    if method.alpha is not None:
        rate = torch.where(prompts.valid[explored], ref, -torch.inf).logsumexp(dim=1)
        rewards = alpha_dpg_rewards(log_p.detach(), log_r, valid, rate.clamp(max=0.0), method.alpha)
    advantages = method.exploration.advantages(rewards)
    trained = method.exploration.trained_groups(rewards)
    loss = _rows(log_p).sum() * 0.0
    if trained.any():
        rows = _rows(log_p[trained])
        loss = method.exploration.loss(rows, rows.detach(), advantages[trained].reshape(-1), _every(rows))
    if method.penalty is not None and coefficient:
        rows = _rows(log_p)
        loss += coefficient * method.penalty.loss(rows, _rows(log_r), _every(rows), log_old=rows.detach())
    if method.rehearsal is None:
        return loss
    ratio = _rows((log_pi - prompts.log_ref)[prompts.rehearsed].gather(1, prompts.stored))
    return dph_loss(loss, method.rehearsal.loss(ratio, _every(ratio)), coefficient)


def _every(rows: Tensor) -> Tensor:
    return torch.ones_like(rows, dtype=torch.bool)


def anchor_loss(
    log_pi: Float[Tensor, "prompts answers"],
    log_ref: Float[Tensor, "prompts answers"],
    stored: Int[Tensor, "prompts drawn"] | None,
) -> Float[Tensor, ""]:
    """Mean KL(base || policy) over a few prompts: exact, or on stored answers drawn from the base."""
    if stored is None:
        return (log_ref.exp() * (log_ref - log_pi)).sum(dim=1).mean()
    ratio = _rows((log_pi - log_ref).gather(1, stored))
    return generator_loss(FORWARD_KL, ratio, _every(ratio))


def _rows(answers: Tensor) -> Float[Tensor, "answers 1"]:
    return answers.reshape(-1, 1)
