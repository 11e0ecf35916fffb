"""Objective of a run as one frozen value: its advantage, its KL term, and the reduction over tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from ..divergences import REVERSE_KL
from ..fdivergence import FDivergence
from .kl_terms import KLTerm


class Weight(NamedTuple):
    """An advantage in words, with its divisor and the baseline subtracted from rewards.

    `scale` is a key of `stationary.groups.SCALES`, `baseline` one of `finite_training.BASELINES`; None if no
    stationary policy is known.
    """

    words: str
    scale: str | None = None
    baseline: str | None = None

    @property
    def unknown(self) -> str:
        """Reason why the advantage has no known stationary policy; empty if it has one."""
        return "" if self.scale is not None else f"the advantage is {self.words}"


DIVIDED = Weight(
    "the group's mean subtracted, std-normalised: low and high pass rates weigh more", "std", "mean"
)
CENTRED = Weight("the group's mean subtracted: the same weight at every pass rate", "none", "mean")
LEFT_OUT = Weight(
    "the mean of the group's other answers subtracted: the same weight at every pass rate",
    "leave_one_out",
    "mean",
)
RAW = Weight("no baseline: the same weight at every pass rate, with more noise", "leave_one_out", "none")
ALONE = Weight("one answer a prompt, so no group and no baseline: the reward itself", "leave_one_out", "none")
BY_MEAN = Weight(
    "the group's mean subtracted, divided by it: log V truncated at order G-1 (MaxRL)", "mean", "mean"
)
BY_RATE = Weight("the group's mean subtracted, weighed by a power of the pass rate, from counts")
LEFT_OUT_DIVIDED = Weight(
    "the mean of the group's other answers subtracted, divided by their std: no objective is known"
)
_BY_BATCH = "divided by the whole batch's std: about the same weight at every pass rate, groups are coupled"
MIXED = Weight(f"the batch's mean subtracted, {_BY_BATCH}")
DIVIDED_BY_BATCH = Weight(f"the group's mean subtracted, {_BY_BATCH}", baseline="mean")
LEARNED = Weight("a learned value function: no weight is known")
BEST = Weight(
    "the best answer's reward minus the second best's: pass@G, (1-V)^(G-1) on grad V (arXiv:2503.19595)"
)
WEIGHTS: Mapping[str, Weight] = MappingProxyType(
    {
        "divided": DIVIDED,
        "centred": CENTRED,
        "left out": LEFT_OUT,
        "left out, divided": LEFT_OUT_DIVIDED,
        "raw": RAW,
        "alone": ALONE,
        "by mean": BY_MEAN,
        "batch": MIXED,
        "centred, batch": DIVIDED_BY_BATCH,
        "divided, then by the batch's std": Weight(
            "the group's mean subtracted, divided by the group's std, then by the whole batch's",
            baseline="mean",
        ),
        "learned": LEARNED,
        "best": BEST,
        "batch mean": RAW._replace(words="the batch's mean subtracted: the same weight at every pass rate"),
        "greedy": RAW._replace(words="the greedy answer's reward subtracted: the same weight everywhere"),
    }
)
"""Advantages by short names, as tables of trainers' settings write them."""
UNDIVIDED = ("none", "leave_one_out")
"""The scales whose weight is equal at all pass rates, so that a verifier's errors act as another beta."""
TOKENS, ANSWERS, SUMS = (
    "mean over the tokens of the batch",
    "mean over each answer's tokens, then over answers: longer correct answers gain under a token penalty",
    "sum over each answer's tokens",
)
REDUCTIONS: Mapping[str, str] = MappingProxyType({"tokens": TOKENS, "answers": ANSWERS, "sums": SUMS})
"""Reductions by short names."""
TRL_LOSS_TYPES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("dapo", "bnpo", "cispo", "vespo"), TOKENS),
        **dict.fromkeys(("grpo", "sapo"), ANSWERS),
        **dict.fromkeys(("dr_grpo", "luspo"), SUMS),
    }
)
"""Reduction over the tokens of answers, by TRL's loss type."""
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "quantile": "top_entropy_quantile={:g}: the tokens left out have the KL's gradient and no reward's",
        "truncation": "rollouts leave tokens out that the KL would retain",
        "reference": "the reference follows the policy: there is no fixed base to converge near",
        "masks": "truncated answers are masked: what their share converges to is not known",
        "rewards": "correctness is not the reward, or not alone",
        "entropy": "the entropy bonus changes where training converges",
    }
)
"""Reasons why a run has no known stationary policy, by the setting that decides."""


@dataclass(frozen=True)
class RehearsedPrompts:
    """The rehearsal of solved prompts: the method, its coefficient eta, and the method's target in words."""

    method: str
    eta: float
    target: str

    @property
    def words(self) -> str:
        """Sentence such as: Solved prompts (D_pef) are rehearsed by DPH-F, eta 0.05, towards pass rate 1."""
        by = f"{self.method}, eta {self.eta:g}, towards {self.target}"
        return f"Solved prompts (D_pef) are rehearsed by {by}; unsolved prompts (D_exp) are trained"


@dataclass(frozen=True)
class Objective:
    """Objective of a run. Every reader of settings builds one; every analysis asks it.

    advantage: divisor and baseline of rewards, in groups of group_size answers (None if the settings do not
    give it); term and coefficient: the KL term, active if the coefficient is above 0; reduction over the
    tokens of answers; updates, optimiser steps per batch (None if not given); sampler of the answers;
    mixed_only: are groups with equal rewards dropped?; unpredicted: the reason why no stationary policy is
    known, or ""; undecided: settings that decide the objective and whose values are not known; rehearsal of
    solved prompts, if there is any.
    """

    advantage: Weight
    group_size: int | None = None
    term: KLTerm | None = None
    coefficient: float = 0.0
    reduction: str = TOKENS
    updates: float | None = 1.0
    sampler: str = "the policy itself"
    mixed_only: bool = False
    unpredicted: str = ""
    undecided: tuple[str, ...] = ()
    rehearsal: RehearsedPrompts | None = None

    @property
    def divergence(self) -> FDivergence | None:
        """Divergence that the KL term minimises; None without a KL, or if it is not known."""
        return self.term.divergence if self.term is not None and self.coefficient > 0 else None

    @property
    def of_tokens(self) -> bool:
        """True if the KL constrains each token rather than the whole answer."""
        return self.term is not None and self.coefficient > 0 and self.term.token

    @property
    def unknown(self) -> str:
        """Reason why the run has no known stationary policy near the base; empty if it has one."""
        why = "; ".join(self.undecided) or self.unpredicted
        return why or ("" if self.divergence else "there is no KL penalty")

    @property
    def stationary_arguments(self) -> Mapping[str, Any]:
        """Arguments of `stationary.normalised_pass_rate_at` beside the base rates.

        A group size that is not given, or 1, counts as 2: there the weight is that of any size. Without a KL
        any divergence may stand here.
        """
        return {
            "beta": self.coefficient,
            "group_size": max(self.group_size or 2, 2),
            "scale": self.advantage.scale or "none",
            "divergence": self.divergence or REVERSE_KL,
        }

    def __str__(self) -> str:
        """The policy that the KL converges to, or the reason why it is not known."""
        if self.unknown or self.term is None:
            return f"{'not known' if self.coefficient else 'none'}, {self.unknown}"
        if not self.of_tokens:
            return self.term.stationary_kl
        # Means over each answer have another stationary policy if lengths differ (entries
        # `updates_and_means`).
        equal = " of answers of one length" if self.reduction == ANSWERS else ""
        return f"{self.term.stationary_kl}, where one token{equal} decides pass rate"
