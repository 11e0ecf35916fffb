"""What a trainer's arguments mean: which stationary policy they have, and by which loss it rehearses."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dph_theory import FORWARD_KL, REVERSE_KL, alpha_divergence
from dph_theory.divergences import named
from dph_theory.fdivergence import FDivergence
from dph_theory.losses import generator_loss, released_alpha, released_forward, released_js
from dph_theory.stationary import group_weight, normalised_validity_at
from dph_theory.trainers.kl_terms import KL_FORMS
from dph_theory.trainers.parts import ANSWERS, CENTRED, DIVIDED, LEFT_OUT, TOKENS, TRL_LOSS_TYPES

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "beta": 0.0,
        "use_bias_correction_kl": True,
        "scale_rewards": "group",
        "loss_type": "dapo",
        "num_generations": 8,
        "entropy_coef": 0.0,
        "top_entropy_quantile": 1.0,
        "reward_weights": None,
        "baseline": "mean",
        "online": "none",
        "online_beta": 0.0,
        "divergence": "forward_kl",
        "alpha": None,
        "eta": 0.0,
        "gauge": "printed",
        "rehearsal_form": "generator",
        "rehearsal_level": "token",
        "rehearsal_reduction": "token_mean",
    }
)
"""What a trainer takes where it is given nothing else: the arguments that the stationary policy depends
on."""
DEFINITION = "definition"
"""The form of a rehearsal that takes its divergence on the policy's own samples."""
RELEASED = MappingProxyType(
    {"released_forward": released_forward, "released_js": released_js, "released_alpha": released_alpha}
)
"""The rehearsal losses of the authors' release, of (log pi, log ref, mask), each a mean over tokens."""


@dataclass(frozen=True)
class StationaryPolicy:
    """Where a penalty beta D(pi || ref) of whole sequences, or of each token, balances the advantage."""

    place: str
    """`sequence` (the KL of the whole answer in the reward) or `token` (a divergence in the loss)."""
    divergence: FDivergence
    beta: float
    scale: str
    """The advantage form, one of `dph_theory.stationary.SCALES`."""
    group_size: int
    reduction: str = TOKENS
    """How the tokens of an answer are taken together, one of those of `TRL_LOSS_TYPES`."""

    def __str__(self) -> str:
        if self.place == "sequence":
            return f"{self.place} {self.divergence.name}"
        # Per-answer means have a stationary policy of their own where lengths differ (entries
        # `updates_and_means`).
        equal = " of answers of one length" if self.reduction == ANSWERS else ""
        return f"{self.place} {self.divergence.name}, where one token{equal} decides validity"

    @property
    def theory(self) -> str:
        """The statement of the theory that gives the stationary policy."""
        if self.scale in ("std", "population_std"):
            return "E4"
        return "A5" if self.place == "sequence" else "E2"

    @property
    def is_tilt(self) -> bool:
        """Whether the stationary policy is a exp(v w/beta)/Z with one weight w for all prompts."""
        return self.divergence == REVERSE_KL and self.scale in ("none", "leave_one_out")

    @property
    def weight(self) -> float:
        """The weight w of a policy that is a tilt: that of the advantage, whatever the pass rate."""
        return float(group_weight(self.group_size, 0.5, self.scale))

    def validity(self, base_rate: Float[np.ndarray, " prompts"]) -> Float[np.ndarray, " prompts"]:
        """Each prompt's stationary pass rate, from its base rate."""
        return normalised_validity_at(base_rate, self.beta, self.group_size, self.scale, self.divergence)


@dataclass(frozen=True)
class NoStationaryPolicy:
    """Arguments for which the theory claims no stationary policy, and why; false in a condition."""

    why: str

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        return f"none, {self.why}"


def stationary_policy(arguments: Mapping[str, Any]) -> StationaryPolicy | NoStationaryPolicy:
    """The stationary policy of a training by its trainer's arguments (`DEFAULTS` where they lack one).

    In the loss, the corrected k3 minimises the reverse KL of tokens, the plain k3 the forward one,
    the definition form its own divergence. TRL's own advantage without scaling is centred by the mean of
    all of the group; that of a KL in the reward, and every baseline but the mean, weighs a correct answer
    by 1. Entries: `kl_estimators`, `forms_and_curvature`, `group_advantages`, `sampling_noise`.
    """
    given = {**DEFAULTS, **arguments}
    penalty = _penalty(given)
    if penalty is None:
        return NoStationaryPolicy("there is no KL penalty")
    scaled = {True: "group", False: "none"}.get(given["scale_rewards"], given["scale_rewards"])
    if why := _no_policy(given, scaled):
        return NoStationaryPolicy(why)
    advantage = CENTRED if given["baseline"] == "mean" else LEFT_OUT
    if scaled == "group":
        advantage = DIVIDED
    if given["online"] == "sequence_kl":
        advantage = LEFT_OUT
    reduction = TRL_LOSS_TYPES[given["loss_type"]]
    return StationaryPolicy(*penalty, str(advantage.scale), int(given["num_generations"]), reduction)


def _penalty(given: Mapping[str, Any]) -> tuple[str, FDivergence, float] | None:
    """Place, divergence and coefficient."""
    if given["online"] in ("sequence_kl", "scaled_kl") and given["online_beta"]:
        return "sequence", REVERSE_KL, float(given["online_beta"])
    if given["rehearsal_form"] == DEFINITION and given["eta"]:
        return "token", declared(given), float(given["eta"])
    if not given["beta"]:
        return None
    if given["online"] == "future_kl":
        return "sequence", REVERSE_KL, float(given["beta"])
    descended = KL_FORMS["k3_corrected" if given["use_bias_correction_kl"] else "k3"].divergence
    return None if descended is None else ("token", descended, float(given["beta"]))


def _no_policy(given: Mapping[str, Any], scaled: str) -> str | None:
    """Why theory claims no stationary policy for these arguments, if it claims none."""
    if given["online"] == "scaled_kl":
        return "penalised rewards are divided by a std that vanishes at the stationary policy"
    if given["online"] != "sequence_kl" and scaled not in ("group", "none"):
        return f"rewards are divided by the deviation of all answers (scale_rewards={scaled!r})"
    if given["loss_type"] not in TRL_LOSS_TYPES or given["loss_type"] == "vespo":
        return f"of loss_type={given['loss_type']!r} no stationary policy is known"
    for name in ("entropy_coef", "top_entropy_quantile"):
        if given[name] != DEFAULTS[name]:
            return f"{name}={given[name]!r} adds to the loss what is no divergence from the base"
    weights = given["reward_weights"]
    if weights and any(weights[1:]):
        return "rewards beside correctness have weights"
    return None


def declared(arguments: Mapping[str, Any]) -> FDivergence:
    """The divergence that arguments name."""
    name = arguments["divergence"]
    return named(name) if name != "alpha" else alpha_divergence(arguments["alpha"] or 0)


def rehearses(arguments: Mapping[str, Any]) -> bool:
    """Whether stored samples are rehearsed: not so in the definition form, whose samples are the policy's."""
    return arguments.get("eta", 0) > 0 and arguments.get("rehearsal_form") != DEFINITION


def rehearsal_loss(arguments: Mapping[str, Any], log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The loss of rehearsed rows (rows, tokens) by a trainer's arguments: a generator's, or the release's."""
    if arguments["rehearsal_form"] != "generator":
        return RELEASED[arguments["rehearsal_form"]](log_pi, log_ref, mask)
    options = {name: arguments[f"rehearsal_{name}"] for name in ("level", "reduction")}
    return generator_loss(declared(arguments), log_pi - log_ref, mask, gauge=arguments["gauge"], **options)


def rehearsal_target(arguments: Mapping[str, Any]) -> str | None:
    """The mass that a rehearsal has as its target on correct samples: "one", "base", or neither (None).

    By the slope of the trainer's own loss at u = 1: where it is 0, the base as it is. Entries:
    `rehearsal_gauge`.
    """
    given = {**DEFAULTS, **arguments}
    if not rehearses(given):
        return None
    log_pi = torch.zeros(1, 1, dtype=torch.float64, requires_grad=True)
    rehearsal_loss(given, log_pi, torch.zeros_like(log_pi), torch.ones(1, 1, dtype=torch.bool)).backward()
    if log_pi.grad is None or log_pi.grad.abs().max() < 1e-12:
        return "base"
    plain = given["rehearsal_form"] == "generator" and given["gauge"] in ("printed", 0)
    return "one" if plain and declared(given) == FORWARD_KL else None
