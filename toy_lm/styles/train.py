"""The compared methods, and their training."""

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from dph_theory.binary_reward import beta_for_mean_pass_rate
from dph_theory.divergences import named
from dph_theory.losses import METHODS, TARGETED, Method, alpha_dpg_rewards, dph_loss, kl_penalty
from dph_theory.losses.methods import in_the_toy
from dph_theory.numeric.arrays import Scalars
from dph_theory.support.errors import argument_error, choice

from ..config import AtLeastTwo, Count, Positive, check
from .samples import AnchorSampler, Samples, draw, presample, stream
from .tasks import DIGITS, STYLES, StylesTask, tokens_of
from .transformer import ResponseDistribution, Transformer, exact_distribution, pass_rates, token_log_probs

PLACES = ("explored", "rehearsed", "all")
"""Prompts of an anchor: the explored samples, the rehearsed prompts D_pef, or all prompts."""

KL_CONTROL = in_the_toy(TARGETED["KL-control-sequence"], "KL control")
ALPHA_DPG = in_the_toy(TARGETED["alpha-DPG"], "alpha-DPG")

TRAINABLE: Mapping[str, Method] = MappingProxyType(
    {method.name: method for method in (*METHODS.values(), TARGETED["reverse"], KL_CONTROL, ALPHA_DPG)}
)
"""All trainable methods by name, with the coefficients that a variant may replace."""


def trainable(name: str) -> Method:
    """Method of a name in TRAINABLE; `DPH:MODULE:OBJECT` is DPH with the divergence that a module declares.

    Raises:
        ValueError: If there is no such method or divergence.
    """
    kind, _, divergence = name.partition(":")
    if divergence and kind == "DPH":
        rehearsal = METHODS["DPH-F"].rehearsal
        if rehearsal is not None:
            return replace(
                METHODS["DPH-F"], name=name, rehearsal=replace(rehearsal, divergence=named(divergence))
            )
    choice("method", name, TRAINABLE)
    return TRAINABLE[name]


@dataclass(frozen=True)
class Variant:
    """One training: a method's name and its varied settings.

    strength: the anchor's coefficient times its curvature f''(1), by which divergences compare fairly; None
    for the method's own. place: see PLACES; None for the method's own. mu: the mean pass rate that KL control
    targets. alpha: of alpha-DPG. Raises ValueError for unknown names and places, and settings that the method
    does not have or lacks.
    """

    name: str
    strength: float | None = None
    place: str | None = None
    mu: float | None = None
    alpha: float | None = None

    def __post_init__(self) -> None:
        method = trainable(self.name)
        own = "rehearsed" if method.rehearsal or self.name == "reverse" else "explored"
        object.__setattr__(self, "place", own if self.place is None else self.place)
        places = ("explored",) if own == "explored" else ("rehearsed", "all")
        if self.place not in places:
            raise argument_error("place", self.place, f"for {self.name} one of {', '.join(places)}")
        for name, target, below in (("mu", KL_CONTROL, 1), ("alpha", ALPHA_DPG, math.inf)):
            value = getattr(self, name)
            allowed = f"a number in (0, {below:g})" if method is target else "None"
            if (value is not None) != (method is target) or (value is not None and not 0 < value < below):
                raise argument_error(name, value, f"for {self.name} {allowed}")
        anchored = (method.penalty or method.rehearsal) is not None and method is not KL_CONTROL
        if self.strength is not None and not (anchored and 0 <= self.strength < math.inf):
            allowed = f"for {self.name} {'at least 0' if anchored else 'None'}"
            raise argument_error("strength", self.strength, allowed)

    @property
    def label(self) -> str:
        """Short name of method, setting and place, unique among variants."""
        settings = {"": self.strength, "mu=": self.mu, "alpha=": self.alpha}
        words = [f"{name}{value:g}" for name, value in settings.items() if value is not None]
        return " ".join([self.name, *words, *(["all"] if self.place == "all" else [])])

    def method(self, base_rates: Scalars) -> Method:
        """The method with its coefficients set; KL control's beta follows from mu and the base rates."""
        method, strength = trainable(self.name), self.strength
        if self.mu is not None:
            strength = float(beta_for_mean_pass_rate(base_rates, self.mu))
        if strength is None:
            return method
        if method.rehearsal is not None:
            eta = strength / method.rehearsal.divergence.curvature
            return replace(method, rehearsal=replace(method.rehearsal, eta=eta))
        return replace(method, penalty=method.penalty and replace(method.penalty, coefficient=strength))


def coefficient(method: Method) -> float | None:
    """Factor of the method's anchor in the loss or the reward; None without an anchor."""
    if method.rehearsal is not None:
        return method.rehearsal.eta
    return None if method.penalty is None else method.penalty.coefficient


@dataclass(frozen=True)
class TrainingSettings:
    """Sizes and rates of a training; ValueError names the field, its value and what is allowed."""

    width: Count = 64
    heads: Count = 2
    layers: Count = 1
    style_shares: Annotated[tuple[Positive, ...], Field(min_length=STYLES, max_length=STYLES)] = (
        0.30, 0.25, 0.20, 0.15, 0.10,
    )  # fmt: skip
    base_pass: Positive = 0.40
    base_updates: Count = 1000
    base_rate: Positive = 2e-3
    check: Count = 10
    base_rows: Count = 256
    rate: Positive = 5e-4
    group: AtLeastTwo = 8
    minibatches: Count = 4
    warm_up: Count = 20
    clip_norm: Positive = 1.0
    presamples: Count = 8
    stored: Count = 8
    anchor_rows: Count = 64

    def __post_init__(self) -> None:
        check(self)


def pretrain(task: StylesTask, settings: TrainingSettings, *, seed: int) -> Transformer:
    """Train the base on correct sums, in styles drawn by their shares whatever the prompt accepts.

    Training stops at the first check, every `check` updates, at which the exact pass rate of the training
    prompts is at least `base_pass`, so that the bases of all seeds are comparable. Raises ValueError if
    `base_updates` do not reach it.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(settings.width, settings.heads, settings.layers)
    generator = stream(seed, "base")
    shares, sums = torch.tensor(settings.style_shares), task.prompts.sum(dim=1)
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.base_rate)
    for update in range(settings.base_updates):
        if update % settings.check == 0:
            passed = pass_rates(distribution_where_trained(model, task), task)[task.train].mean().item()
            if passed >= settings.base_pass:
                return model
        rows = torch.randint(len(sums), (settings.base_rows,), generator=generator)
        styles = torch.multinomial(shares, settings.base_rows, replacement=True, generator=generator)
        responses = tokens_of(styles * DIGITS * DIGITS + sums[rows])
        descend(optimiser, -token_log_probs(model, task.prompts[rows], responses).mean(), settings.clip_norm)
    reached = f"{settings.base_updates} base_updates reach {passed:.3g}"
    raise argument_error("base_pass", settings.base_pass, reached)


def train(
    base: Transformer,
    task: StylesTask,
    variant: Variant,
    settings: TrainingSettings,
    *,
    updates: int,
    seed: int,
) -> Iterator[tuple[int, ResponseDistribution]]:
    """Train by reinforcement from the base; yields the number of updates and the exact policy.

    A round draws a group for each training prompt, then makes one update for each minibatch of groups.
    Probabilities come before every round, for the training prompts (see `distribution_where_trained`),
    and at the end, for all. Raises ValueError unless the updates fill whole rounds.
    """
    if updates < 0 or updates % settings.minibatches:
        raise argument_error("updates", updates, f"whole rounds of {settings.minibatches} minibatches")
    reference = exact_distribution(base, task.prompts)
    rates = pass_rates(reference, task)
    method = variant.method(rates[task.train].numpy())
    anchors = anchoring(reference, task, method, variant, settings, seed=seed)
    generator = stream(seed, "explore")
    model = copy.deepcopy(base)
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.rate)
    for update in range(0, updates + 1, settings.minibatches):
        if update == updates:
            yield update, exact_distribution(model, task.prompts)
            return
        policy = distribution_where_trained(model, task)
        yield update, policy
        order = task.train[torch.randperm(len(task.train), generator=generator)]
        samples = draw(policy, reference, task, order.repeat_interleave(settings.group), generator)
        advantages, trained = judge(samples, rates, method, variant, settings.group)
        groups = torch.arange(len(samples.valid)).unflatten(0, (-1, settings.group))
        for step, part in enumerate(groups.tensor_split(settings.minibatches), start=update + 1):
            rows = part.flatten()
            rows = rows[trained[rows]]
            loss = objective(model, task, method, samples.at(rows), advantages[rows], anchors(policy))
            # Adam's first steps have full length whatever the gradient, and would destroy the base.
            optimiser.param_groups[0]["lr"] = settings.rate * min(1, step / settings.warm_up)
            descend(optimiser, loss, settings.clip_norm)


def distribution_where_trained(model: Transformer, task: StylesTask) -> ResponseDistribution:
    """Exact probabilities on the training prompts, nan on the others."""
    return exact_distribution(model, task.prompts[task.train]).among(task.train, len(task.prompts))


def anchoring(
    reference: ResponseDistribution,
    task: StylesTask,
    method: Method,
    variant: Variant,
    settings: TrainingSettings,
    *,
    seed: int,
) -> AnchorSampler:
    """Build the source of samples on which an update is regularised to the base; see PLACES.

    A rehearsal draws from stored base samples: correct ones on D_pef, or all samples on all prompts. A
    penalty has the policy answer the same prompts anew.
    """
    if variant.place == "explored":
        return lambda policy: None
    generator, rows = stream(seed, "anchor"), (settings.anchor_rows,)
    sizes = {"presamples": settings.presamples, "stored": settings.stored}
    chosen, store = presample(reference, task, **sizes, seed=seed)
    if variant.place == "all":
        chosen = task.train
        store = draw(reference, reference, task, chosen.repeat_interleave(settings.stored), generator)
    if method.rehearsal is not None:
        return lambda policy: store.at(torch.randint(len(store.valid), rows, generator=generator))
    return lambda policy: draw(
        policy, reference, task, chosen[torch.randint(len(chosen), rows, generator=generator)], generator
    )


def judge(
    samples: Samples, rates: Float[Tensor, " prompts"], method: Method, variant: Variant, group: int
) -> tuple[Float[Tensor, " rows"], Bool[Tensor, " rows"]]:
    """Advantage of each sample in its group, and the mask of samples that dynamic sampling retains."""
    log_pi, log_ref, valid = samples.in_groups(group)
    rewards = valid.double()
    if variant.alpha is not None:
        log_rates = rates[samples.prompts[::group]].log()
        rewards = alpha_dpg_rewards(log_pi, log_ref, valid, log_rates, variant.alpha)
    penalty, exploration = method.penalty, method.exploration
    if penalty is not None and penalty.form == "reward":
        costs = kl_penalty(penalty.estimator, log_pi, log_ref, _every(log_pi), form="reward")
        rewards = rewards - penalty.coefficient * costs
    advantages, trained = exploration.advantages(rewards), exploration.trained_groups(rewards)
    return advantages.flatten(), trained.repeat_interleave(group)


def objective(
    model: Transformer,
    task: StylesTask,
    method: Method,
    explored: Samples,
    advantages: Float[Tensor, " rows"],
    anchors: Samples | None,
) -> Float[Tensor, ""]:
    """Loss of one update: the clipped surrogate plus the method's anchor, all from `dph_theory.losses`.

    The anchor is a rehearsal or a penalty on its own samples, or a penalty on the explored samples.
    """
    loss = torch.zeros((), dtype=torch.float64)
    # Dynamic sampling may leave nothing to explore from.
    if len(advantages):
        log_pi = token_log_probs(model, task.prompts[explored.prompts], explored.responses)
        loss = method.exploration.loss(log_pi, explored.log_old, advantages, _every(log_pi))
        if anchors is None:
            loss = _penalised(loss, method, log_pi, explored)
    if anchors is None:
        return loss
    log_pi = token_log_probs(model, task.prompts[anchors.prompts], anchors.responses)
    if method.rehearsal is None:
        return _penalised(loss, method, log_pi, anchors)
    rehearsed = method.rehearsal.loss(log_pi - anchors.log_ref, _every(log_pi))
    return dph_loss(loss, rehearsed, method.rehearsal.eta)


def _penalised(loss: Tensor, method: Method, log_pi: Tensor, samples: Samples) -> Float[Tensor, ""]:
    penalty, reduction = method.penalty, method.exploration.reduction
    if penalty is None or penalty.form != "loss":
        return loss
    mask = _every(log_pi)
    cost = penalty.loss(log_pi, samples.log_ref, mask, log_old=samples.log_old, reduction=reduction)
    return dph_loss(loss, cost, penalty.coefficient)


def _every(log_pi: Tensor) -> Bool[Tensor, "batch tokens"]:
    """Mask of ones in the shape of `log_pi`: all responses have full length, so every token counts."""
    return torch.ones_like(log_pi, dtype=torch.bool)


def descend(optimiser: torch.optim.Optimizer, loss: Tensor, clip_norm: float) -> None:
    """Take one step with clipped gradient; none if the loss does not depend on the policy."""
    if not loss.requires_grad:
        return
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(optimiser.param_groups[0]["params"], clip_norm)
    optimiser.step()
