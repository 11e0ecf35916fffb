"""What a run optimises, as one frozen value: its advantage, its KL term, and how their gradients add up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..divergences import REVERSE_KL
from ..fdivergence import FDivergence
from .kl_terms import KLTerm
from .parts import ANSWERS, TOKENS, Weight


@dataclass(frozen=True)
class Objective:
    """What a run optimises; every reader of settings makes one, and every question is put to it.

    advantage: what rewards are divided by and what is subtracted from them, in groups of group_size answers
    (None where the settings do not say); term and coefficient: the KL term, acting where the coefficient is
    above 0; reduction, how the tokens of answers are added up; updates, optimiser steps a batch (None where
    not said); sampler, who draws the answers; mixed_only: whether groups whose rewards agree are left out;
    unpredicted: why no stationary policy is known, "" where one is; undecided: settings that decide what is
    optimised and whose values are not known.
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

    @property
    def divergence(self) -> FDivergence | None:
        """The divergence that the KL term minimises; None without a KL, and where that is not known."""
        return self.term.divergence if self.term is not None and self.coefficient > 0 else None

    @property
    def of_tokens(self) -> bool:
        """Whether the KL constrains each token, and not the whole answer."""
        return self.term is not None and self.coefficient > 0 and self.term.token

    @property
    def unknown(self) -> str:
        """Why it has no known stationary policy near the base; "" where it has one."""
        why = "; ".join(self.undecided) or self.unpredicted
        return why or ("" if self.divergence else "there is no KL penalty")

    @property
    def stationary_arguments(self) -> Mapping[str, Any]:
        """The arguments of `stationary.normalised_validity_at` beside the base rates.

        Of a group whose size is not said, answers less the others weigh as those of any; without a KL any
        divergence stands there.
        """
        return {
            "beta": self.coefficient,
            "group_size": self.group_size or 2,
            "scale": self.advantage.scale or "none",
            "divergence": self.divergence or REVERSE_KL,
        }

    def __str__(self) -> str:
        """What the KL converges to, or why that is not known."""
        if self.unknown or self.term is None:
            return f"{'not known' if self.coefficient else 'none'}, {self.unknown}"
        if not self.of_tokens:
            return self.term.stationary_kl
        # Means over each answer have a stationary policy of their own where lengths differ (entries
        # `updates_and_means`).
        equal = " of answers of one length" if self.reduction == ANSWERS else ""
        return f"{self.term.stationary_kl}, where one token{equal} decides validity"
