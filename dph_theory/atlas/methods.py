"""The published repairs, each one declaration: where it was read, and its update as a formula.

Left out, since they are not one update of the answers' probabilities alone: KL-Cov (arXiv:2505.22617; its
penalty acts only between the updates of one batch, on two tokens in ten thousand), EXPO-style resampling,
learned judges as such (uniqueness and DIVER stand here with answers told apart by being equal or not).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..audit import published_advantages as published
from ..divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from ..fdivergence import FDivergence
from ..losses import policy_losses
from . import formulas
from .formulas import Advantage, Stored, of_rewards

PAPER, CODE, SUMMARY = "paper", "released code", "summary"


@dataclass(frozen=True, kw_only=True)
class Method:
    """One method, at its published setting; `read` says from what it is known."""

    name: str
    source: str
    note: str
    advantage: Advantage
    read: str = PAPER
    knob: bool = False
    """Whether a coefficient is the method's own, to be taken to zero."""
    reduction: str = "sum"
    """Of tokens: "sum", "answer mean" (over the answer's length), "token mean" (over the batch's mean)."""
    surrogate: policy_losses.Surrogate | None = None
    """A function of policy and sampler; None: the policy gradient itself."""
    updates: int = 1
    stored: Stored | None = None
    """What stored right answers of the base add."""


def _grouped(name: str, source: str, note: str, advantage: Callable[..., Any], **settings: Any) -> Method:
    """An advantage of rewards."""
    return Method(name=name, source=source, note=note, advantage=of_rewards(advantage), **settings)


def _clipped(
    name: str, source: str, note: str, surrogate: policy_losses.Surrogate, **settings: Any
) -> Method:
    """GRPO's advantage under a surrogate, four updates on a batch."""
    given = {"advantage": formulas.GROUPED, "reduction": "answer mean", "updates": 4, **settings}
    return Method(name=name, source=source, note=note, surrogate=surrogate, **given)


def _penalised(name: str, source: str, note: str, advantage: Advantage, **settings: Any) -> Method:
    """A penalty or bonus with a coefficient."""
    return Method(name=name, source=source, note=note, advantage=advantage, knob=True, **settings)


def _rehearsed(name: str, note: str, divergence: FDivergence) -> Method:
    """RLOO, and what is rehearsed on stored right answers of the base."""
    stored = partial(formulas.rehearsal, divergence)
    advantage = of_rewards(published.leave_one_out)
    return _penalised(name, "arXiv:2509.07430", note, advantage, stored=stored)


def _alone(divergence: FDivergence) -> Stored:
    """The same without a coefficient."""
    return lambda problem, log_pi, knob: formulas.rehearsal(divergence, problem, log_pi, 1.0)


_CLIP, _NSR = "four updates on a batch; ", "arXiv:2506.01347"
_OF_REWARDS = (
    _grouped(
        "GRPO",
        "arXiv:2402.03300",
        "(r - m)/s, an answer's tokens averaged",
        published.sample_deviation,
        reduction="answer mean",
    ),
    _grouped("Dr. GRPO", "arXiv:2503.20783", "r - m, tokens added up", published.mean_of_all),
    _grouped("RLOO", "arXiv:2402.14740", "r less the mean of the others", published.leave_one_out),
    Method(
        name="REINFORCE++",
        source="arXiv:2501.03262",
        note="r less the batch's mean, over its deviation",
        advantage=formulas.batch_normalised,
    ),
    Method(
        name="dynamic sampling",
        source="arXiv:2503.14476",
        note="GRPO, groups that agree replaced; mean over tokens",
        advantage=formulas.dynamic_sampling,
        reduction="token mean",
    ),
    _grouped("MaxRL", "arXiv:2602.02710", "(r - m)/m", published.over_the_mean),
    _grouped("PKPO", "arXiv:2505.15201", "gradient of pass@2, less the others", published.pkpo_leave_one_out),
    _grouped(
        "pass@k training",
        "arXiv:2508.10751",
        "of pass@2, over its deviation",
        partial(published.pass_at_k_training, k=2),
    ),
    _grouped(
        "best minus second",
        "arXiv:2503.19595",
        "the best answer's reward less the second's",
        published.best_minus_second,
    ),
    Method(
        name="F-GRPO",
        source="arXiv:2602.06717",
        note="GRPO times (1 - m)^1",
        advantage=partial(formulas.focal, 1.0),
        reduction="answer mean",
    ),
    Method(
        name="positives only",
        source=_NSR,
        note="1 if right, 0 if wrong",
        advantage=partial(formulas.constant, 0.0),
    ),
    Method(
        name="negatives only",
        source=_NSR,
        note="0 if right, -1 if wrong",
        advantage=partial(formulas.constant, 1.0),
    ),
    Method(
        name="W-REINFORCE",
        source=_NSR,
        note=".1 if right, -1 if wrong",
        advantage=partial(formulas.weighted, 0.1),
    ),
)
_CLIPPED = (
    _clipped("PPO clip", "arXiv:2402.03300", _CLIP + "ratio within .2", policy_losses.clipped()),
    _clipped(
        "clip-higher",
        "arXiv:2503.14476",
        _CLIP + "ratio from .8 to 1.28, mean over tokens",
        policy_losses.clipped(0.2, 0.28),
        reduction="token mean",
    ),
    _clipped(
        "clip below alone",
        "arXiv:2509.26114",
        _CLIP + "ratio from .8",
        policy_losses.clipped(0.2, 1e9),
        read=SUMMARY,
    ),
    _clipped(
        "clip above alone",
        "arXiv:2509.26114",
        _CLIP + "ratio to 1.2",
        policy_losses.clipped(1.0, 0.2),
        read=SUMMARY,
    ),
    _clipped(
        "dual clip",
        "arXiv:1912.09729",
        _CLIP + "ratio within .2, and at most 3 if wrong",
        policy_losses.clipped(dual=3.0),
    ),
    _clipped(
        "GSPO",
        "arXiv:2507.18071",
        _CLIP + "the answer's mean ratio from -.0003 to +.0004",
        policy_losses.clipped(3e-4, 4e-4, log_ratio=policy_losses.sequence_log_ratio),
    ),
    _clipped(
        "CISPO",
        "arXiv:2506.13585",
        _CLIP + "ratio held, at most 1.28",
        policy_losses.held_ratio(None, 1.28),
        reduction="token mean",
    ),
    _clipped(
        "DPPO mask",
        "arXiv:2602.04879",
        _CLIP + "masked where the probability moved by .15",
        policy_losses.probability_region(0.15, binary_kl=False),
        read=CODE,
    ),
)
_PENALISED = (
    _penalised(
        "entropy bonus, token",
        "arXiv:1602.01783",
        "-log pi of each token, in its advantage",
        formulas.entropy_bonus,
    ),
    _penalised(
        "entropy bonus, answer",
        "arXiv:1702.08165",
        "-log pi of the answer, in the reward",
        formulas.sequence_entropy,
    ),
    _penalised(
        "KL in the reward", "arXiv:2009.01325", "-log u of the answer, in the reward", formulas.sequence_kl
    ),
    _penalised(
        "KL in the reward, scaled",
        "verl, use_kl_in_reward",
        "the same, over the group's deviation",
        formulas.scaled_sequence_kl,
        read=CODE,
        reduction="token mean",
    ),
    _penalised(
        "k2 or corrected k3",
        "TRL, use_bias_correction_kl",
        "log u of each token, in its advantage",
        formulas.token_reverse,
        read=CODE,
    ),
    _penalised(
        "corrected k3, answer means",
        "TRL, loss_type grpo",
        "the same, an answer's tokens averaged",
        formulas.token_reverse,
        read=CODE,
        reduction="answer mean",
    ),
    _penalised("k3 in the loss", "arXiv:2402.03300", "1 - 1/u of each token", formulas.token_forward),
    _penalised(
        "GRPO with k3", "arXiv:2402.03300", "GRPO with that", formulas.grpo_k3, reduction="answer mean"
    ),
    _penalised(
        "FRPO",
        "arXiv:2601.10201",
        "GRPO, and log u of the token and of those to come",
        formulas.future_kl,
        read=SUMMARY,
    ),
    _rehearsed("DPH-F", "-log u on stored right answers", FORWARD_KL),
    _rehearsed("DPH-JS", "JS on stored right answers", JENSEN_SHANNON),
    _rehearsed("DPH-alpha", "alpha = .2 on stored right answers", alpha_divergence(0.2)),
)
_TARGETED = (
    Method(
        name="alpha-DPG", source="arXiv:2512.05962", note="alpha = .5", advantage=partial(formulas.dpg, 0.5)
    ),
    Method(name="KL-DPG", source="arXiv:2302.08215", note="alpha = 1", advantage=partial(formulas.dpg, 1.0)),
    Method(
        name="rejection fine-tuning",
        source="arXiv:2308.01825",
        note="-log pi on the base's right answers, nothing else",
        advantage=formulas.nothing,
        stored=_alone(FORWARD_KL),
    ),
)
_SHAPED = (
    Method(
        name="unlikeliness",
        source="arXiv:2506.02355",
        read=CODE,
        note="GRPO of r (1 - .25 rank/G), likelier answers rank higher",
        advantage=formulas.unlikeliness,
        reduction="answer mean",
    ),
    Method(
        name="uniqueness",
        source="arXiv:2601.08763",
        read=SUMMARY,
        note="GRPO over the number of equal answers in the group",
        advantage=formulas.uniqueness,
        reduction="answer mean",
    ),
    Method(
        name="uniqueness, in the reward",
        source="arXiv:2601.08763",
        read=SUMMARY,
        note="GRPO of r over the number of equal answers in the group",
        advantage=formulas.unique_rewards,
        reduction="answer mean",
    ),
    Method(
        name="UCPO, added",
        source="arXiv:2605.00365",
        read=CODE,
        note="GRPO, and .2 (-log q - H(q)) if right",
        advantage=partial(formulas.ucpo_added, 0.2),
        reduction="token mean",
    ),
    Method(
        name="UCPO",
        source="arXiv:2605.00365",
        read=CODE,
        note="GRPO, a fifth of the right answers' part by 1/q",
        advantage=partial(formulas.ucpo, 0.2),
        reduction="token mean",
    ),
    Method(
        name="polychromic",
        source="arXiv:2509.25424",
        read=SUMMARY,
        note="the group's mean reward times its share of different answers",
        advantage=formulas.polychromic,
    ),
    Method(
        name="DIVER",
        source="arXiv:2509.26209",
        read=CODE,
        note="GRPO of r (1 + .2 d), d the share of others that differ",
        advantage=partial(formulas.diver, 0.2),
        reduction="token mean",
    ),
    Method(
        name="Clip-Cov",
        source="arXiv:2505.22617",
        note="GRPO without tokens of covariance 1 to 5",
        advantage=formulas.clip_cov,
        reduction="token mean",
    ),
)
METHODS: tuple[Method, ...] = (*_OF_REWARDS, *_CLIPPED, *_PENALISED, *_TARGETED, *_SHAPED)
"""Every method of the atlas."""
