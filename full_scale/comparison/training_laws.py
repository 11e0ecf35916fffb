"""Which law of training a run's settings lead to: its KL, the place of it, the weight of its advantages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from dph_theory import FORWARD_KL, REVERSE_KL
from dph_theory.fdivergence import FDivergence
from dph_theory.laws import group_weight, normalised_validity_at

GROUP_SIZE = 8
"""TRL's `num_generations` where a recipe sets none."""


@dataclass(frozen=True)
class TrainingLaw:
    """A penalty beta D(pi || ref) of whole sequences or of each token, beside a group-relative advantage."""

    place: str
    """`sequence` (the KL of the whole answer in the reward) or `token` (a KL in the loss)."""
    divergence: FDivergence
    beta: float
    scale: str
    """The advantage form, one of `dph_theory.laws.SCALES`."""
    group_size: int

    def __str__(self) -> str:
        only = "" if self.place == "sequence" else ", where one token decides validity"
        return f"{self.place} {self.divergence.name}{only}"

    @property
    def theory(self) -> str:
        """The statement of the theory that gives the law."""
        if self.scale in ("std", "population_std"):
            return "E4"
        return "A5" if self.place == "sequence" else "E2"

    @property
    def is_tilt(self) -> bool:
        """Whether the law is a exp(v w/beta)/Z with one weight w for all prompts."""
        return self.divergence == REVERSE_KL and self.scale in ("none", "leave_one_out")

    @property
    def weight(self) -> float:
        """The weight w of a law that is a tilt: that of the advantage, whatever the validity (E4)."""
        return float(group_weight(self.group_size, 0.5, self.scale))

    def validity(self, base_rate: Float[np.ndarray, " prompts"]) -> Float[np.ndarray, " prompts"]:
        """The validity of each prompt at the law, from its base rate."""
        return normalised_validity_at(base_rate, self.beta, self.group_size, self.scale, self.divergence)


def training_law(arguments: Mapping[str, Any], train: Mapping[str, Any]) -> TrainingLaw | None:
    """The law of a run by the trainer's arguments (`methods.setup`) and `train:` settings; None without KL.

    The corrected k3 descends the reverse KL of tokens, the plain k3 the forward one (B6). Where the KL is in
    the reward, both are centred by the mean of the group's others; TRL's own advantage without scaling is
    centred by the mean of all.
    """
    size = int(train.get("num_generations") or GROUP_SIZE)
    if arguments.get("online") == "sequence_kl":
        beta = float(arguments["online_coefficient"])
        return TrainingLaw("sequence", REVERSE_KL, beta, "leave_one_out", size) if beta else None
    if not arguments.get("beta"):
        return None
    divergence = REVERSE_KL if arguments["use_bias_correction_kl"] else FORWARD_KL
    scale = "none" if arguments["scale_rewards"] == "none" else "std"
    return TrainingLaw("token", divergence, float(arguments["beta"]), scale, size)
