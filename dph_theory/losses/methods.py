"""The named methods, as small frozen configurations of the losses of this package; loads without torch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from .. import losses
from ..divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from ..fdivergence import FDivergence
from ..references import Source
from .kl_terms import KL_FORMS
from .objective import ANSWERS, BY_MEAN, CENTRED, DIVIDED, LEFT_OUT, TOKENS, Objective

if TYPE_CHECKING:
    from torch import Tensor

ADVANTAGE_BASELINES = ("mean", "leave_one_out", "one", "none")
LEVELS = ("token", "sequence")
REDUCTIONS = ("token_mean", "sequence_mean", "sum", "sequence_sum")


@dataclass(frozen=True)
class Exploration:
    """Arguments of `group_advantages` and `ppo_clip_loss`; does `informative_groups` filter?"""

    clip_low: float
    clip_high: float
    reduction: str
    level: str = "token"
    dual_clip: float | None = None
    divided_by: str = "std"
    baseline: str = "mean"
    dynamic_sampling: bool = False

    def advantages(self, rewards: "Tensor") -> "Tensor":
        """Advantages (groups, size) of rewards (groups, size)."""
        return losses.group_advantages(rewards, divided_by=self.divided_by, baseline=self.baseline)

    def trained_groups(self, rewards: "Tensor") -> "Tensor":
        """Mask of the trained groups of rewards (groups, size): all, or those with different rewards."""
        return losses.informative_groups(rewards) | (not self.dynamic_sampling)

    def loss(self, log_pi: "Tensor", log_old: "Tensor", advantages: "Tensor", mask: "Tensor") -> "Tensor":
        """Clipped surrogate loss, a scalar, of rollouts (rows, tokens) with advantages (rows,)."""
        clipped = partial(
            losses.ppo_clip_loss, level=self.level, reduction=self.reduction, dual_clip=self.dual_clip
        )
        return clipped(log_pi, log_old, advantages, mask, clip_low=self.clip_low, clip_high=self.clip_high)


@dataclass(frozen=True)
class Penalty:
    """Arguments of `kl_penalty` on the policy's samples, and its coefficient."""

    estimator: str
    coefficient: float
    form: str = "loss"

    def loss(
        self,
        log_pi: "Tensor",
        log_ref: "Tensor",
        mask: "Tensor",
        *,
        log_old: "Tensor",
        reduction: str = "token_mean",
    ) -> "Tensor":
        """Estimate of the KL in nats, a scalar, on the policy's samples (rows, tokens); no coefficient."""
        old = log_old if self.estimator == "k3_corrected" else None
        return losses.kl_penalty(self.estimator, log_pi, log_ref, mask, log_old=old, reduction=reduction)


@dataclass(frozen=True)
class Rehearsal:
    """Arguments of `generator_loss` on stored reference samples, with eta and the published range of eta."""

    divergence: FDivergence
    eta: float
    eta_range: tuple[float, float]
    gauge: str | float = "printed"
    level: str = "token"
    reduction: str = "token_mean"

    def loss(self, log_ratio: "Tensor", mask: "Tensor") -> "Tensor":
        """Divergence, a scalar, on stored rows of log pi/ref (rows, tokens), without eta."""
        return losses.generator_loss(
            self.divergence, log_ratio, mask, level=self.level, reduction=self.reduction, gauge=self.gauge
        )


@dataclass(frozen=True)
class Method:
    """A method: its exploration, its constraint to the reference, and the source of its values."""

    name: str
    exploration: Exploration
    penalty: Penalty | None
    rehearsal: Rehearsal | None
    source: Source
    alpha: float | None = None  # Exponent of `alpha_dpg_rewards`, or None.

    def objective(self, group_size: int, coefficient: float | None = None) -> Objective:
        """Objective on explored prompts for groups of that size, at the penalty's coefficient or another."""
        exploration, penalty = self.exploration, self.penalty
        undivided = CENTRED if exploration.baseline == "mean" else LEFT_OUT
        divided = {"std": DIVIDED._replace(scale="population_std"), "mean": BY_MEAN}
        advantage = divided.get(exploration.divided_by, undivided)
        own = 0.0 if penalty is None else penalty.coefficient
        form = "sequence_kl" if penalty is not None and penalty.form == "reward" else ""
        return Objective(
            advantage,
            group_size,
            None if penalty is None else KL_FORMS[form or penalty.estimator],
            0.0 if penalty is None else own if coefficient is None else coefficient,
            TOKENS if exploration.reduction == "token_mean" else ANSWERS,
            mixed_only=exploration.dynamic_sampling,
        )


# shao2024grpo: the mean over each answer, then over answers; normalised advantages; k3 with coefficient 0.04.
# The width 0.2 of the clip is PPO's custom; the paper prints none.
_GRPO = Exploration(clip_low=0.2, clip_high=0.2, reduction="sequence_mean")
# yu2025dapo: the clip raised to 0.28 above, the mean over tokens, groups of equal rewards dropped, no KL.
_DAPO = replace(_GRPO, clip_high=0.28, reduction="token_mean", dynamic_sampling=True)
# li2025choice: exploration as in DAPO; eta from 0.01 to 0.05 for the forward KL and alpha = 0.2, from 0.05 to
# 0.2 for JS. Within these ranges ours have equal coefficient, eta f''(1) = 0.05.
_FORWARD = Rehearsal(FORWARD_KL, eta=0.05, eta_range=(0.01, 0.05))
_JENSEN_SHANNON = Rehearsal(JENSEN_SHANNON, eta=0.1, eta_range=(0.05, 0.2))
_ALPHA = Rehearsal(alpha_divergence(0.2), eta=0.05, eta_range=(0.01, 0.05))


def _by_name(*methods: Method) -> Mapping[str, Method]:
    return MappingProxyType({method.name: method for method in methods})


METHODS = _by_name(
    Method("GRPO", _GRPO, Penalty("k3", 0.04), None, Source("shao2024grpo")),
    Method("DAPO", _DAPO, None, None, Source("yu2025dapo")),
    # The baseline is named by the value of k3; as a loss k3 has the gradient of KL(ref || pi).
    Method("RKL", _DAPO, Penalty("k3", 0.04), None, Source("li2025choice", "baseline")),
    Method("DPH-F", _DAPO, None, _FORWARD, Source("li2025choice")),
    Method("DPH-JS", _DAPO, None, _JENSEN_SHANNON, Source("li2025choice")),
    Method("DPH-alpha", _DAPO, None, _ALPHA, Source("li2025choice")),
)
"""The methods by name. A comment beside a value gives the reason for a choice that the paper leaves open."""

MAXRL = Method("MaxRL", replace(_GRPO, divided_by="mean"), None, None, Source("tajwar2026maxrl"))
"""GRPO with the group's mean in place of its std; the source defines no clip of its own."""
DPH_MAXRL = Method("DPH-MaxRL", replace(_DAPO, divided_by="mean"), None, _FORWARD, Source("ours"))
"""DPH-F with the group's mean in place of the std: the rehearsal of DPH-F with the advantage of MaxRL."""

# The optimum depends on the reward's scale, so advantages are not std-normalised: that would change beta from
# prompt to prompt.
_UNSCALED = replace(_DAPO, divided_by="none", dynamic_sampling=False)
_KL_CONTROL = Source("dymetman2026binary", "KL control")
_DPG = Source("kruszewski2026whatever")

TARGETED = _by_name(
    # The reverse KL by the estimator whose gradient is correct.
    Method("reverse", _DAPO, Penalty("k3_corrected", 0.0), None, Source("ours")),
    # Token by token: the gradient ignores how a token changes the KL of later tokens.
    Method("KL-control", _UNSCALED, Penalty("k3_corrected", 0.04), None, _KL_CONTROL),
    # The KL of the whole completion, in the reward.
    Method("KL-control-sequence", _UNSCALED, Penalty("k1", 0.04, "reward"), None, _KL_CONTROL),
    Method("alpha-DPG", replace(_UNSCALED, baseline="leave_one_out"), None, None, _DPG, 0.5),
    Method("KL-DPG", replace(_UNSCALED, baseline="leave_one_out"), None, None, _DPG, 1.0),
)
"""Methods whose optimum is known, by name: the tilted or the filtered policy, or near it."""


def in_the_toy(method: Method, name: str) -> Method:
    """The method as the toy trains it, under another name: clip 0.2, and leave-one-out advantages.

    TRL subtracts the mean of the whole group instead, which multiplies the expected gradient by (G-1)/G.
    """
    exploration = replace(method.exploration, clip_high=_GRPO.clip_high, baseline="leave_one_out")
    return replace(method, name=name, exploration=exploration)
