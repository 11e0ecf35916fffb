"""What a run is made of beside its KL term, in words that readers share: advantages and reductions."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Weight(NamedTuple):
    """An advantage in words, what it divides by and what it subtracts from rewards.

    `scale` is a key of `stationary.groups.SCALES`, `baseline` one of `finite_training.BASELINES`; None where
    no stationary policy is known.
    """

    words: str
    scale: str | None = None
    baseline: str | None = None


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
MIXED = Weight("divided by the whole batch's std, which couples the groups")
LEARNED = Weight("a learned value function: no weight is known")
BEST = Weight(
    "the best answer's reward less the second best's: pass@G, (1-V)^(G-1) on grad V (arXiv:2503.19595)"
)
UNDIVIDED = ("none", "leave_one_out")
"""The scales whose weight is one for all pass rates: there a verifier that errs acts as another beta."""
TOKENS, ANSWERS, SUMS = (
    "mean over the tokens of the batch",
    "mean over each answer's tokens, then over answers: longer correct answers gain under a token penalty",
    "sum over each answer's tokens",
)
TRL_LOSS_TYPES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("dapo", "bnpo", "cispo", "vespo"), TOKENS),
        **dict.fromkeys(("grpo", "sapo"), ANSWERS),
        **dict.fromkeys(("dr_grpo", "luspo"), SUMS),
    }
)
"""How TRL's loss types take the tokens of answers together."""
