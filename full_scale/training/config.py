"""The settings of DPH's trainer: TRL's GRPOConfig, and those of the rehearsal and of the online methods."""

import math
from dataclasses import dataclass

from trl import GRPOConfig

from dph_theory import DIVERGENCES, alpha_divergence
from dph_theory.audit.catalogue_forms import released_alpha, released_forward, released_js
from dph_theory.fdivergence import FDivergence
from dph_theory.losses import LEVELS, REDUCTIONS
from dph_theory.support.errors import argument_error, choice

RELEASED = {
    "released_forward": released_forward,
    "released_js": released_js,
    "released_alpha": released_alpha,
}
"""The rehearsal losses of the authors' release, of (log pi, log ref, mask), each a mean over tokens."""
ONLINE = ("none", "definition", "alpha_dpg", "sequence_kl")


@dataclass
class DPHConfig(GRPOConfig):
    """GRPOConfig with the rehearsal: `eta` times `generator_loss` on `rehearsal_rows` rows a step.

    divergence is a name of `dph_theory.DIVERGENCES`, or "alpha" with alpha; gauge, level and reduction are
    those of `generator_loss`. ValueError for what these do not allow. Source: li2025choice.
    """

    eta: float = 0.0
    divergence: str = "forward_kl"
    alpha: float | None = None
    gauge: str | float = "printed"
    rehearsal_level: str = "token"
    rehearsal_reduction: str = "token_mean"
    rehearsal_rows: int = 512
    rehearsal_form: str = "generator"
    """`generator`, or one of RELEASED: the loss as the authors' code computes it."""
    two_backward: bool = False
    """The rehearsal's backward pass by itself, before the exploration's forward: less memory at the peak."""
    log_u_tolerance: float = 0.02
    """Above this, the largest |log u| before the first step is warned of: there u should be 1."""
    online: str = "none"
    """What `full_scale.training.online` puts in place of the advantages, from the reference at hand."""
    online_coefficient: float = 0.0
    """Of the penalty: eta of the definition form, beta of the sequence KL."""
    ratio_clip: float | None = None
    """Of alpha-DPG's ratio p_*/pi; off unless given, and counted."""
    collapse_every: int = 0
    """The collapse meter reads every so many generated batches; 0 is off."""
    keep_moments: bool = False
    """Whether a finished run keeps its last checkpoint, from which it can be extended."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.eta < math.inf:
            raise argument_error("eta", self.eta, "a finite number, at least 0")
        if self.rehearsal_rows < 1:
            raise argument_error("rehearsal_rows", self.rehearsal_rows, "at least one row")
        for name, allowed in (
            ("rehearsal_level", LEVELS),
            ("rehearsal_reduction", REDUCTIONS),
            ("online", ONLINE),
            ("rehearsal_form", ("generator", *RELEASED)),
            ("divergence", (*DIVERGENCES, "alpha")),
        ):
            choice(name, getattr(self, name), allowed)
        if (self.alpha is None) == (self.divergence == "alpha" or self.online == "alpha_dpg"):
            raise argument_error(
                "alpha", self.alpha, "a number for divergence='alpha' and alpha-DPG, none otherwise"
            )

    def declared(self) -> FDivergence:
        """The divergence itself."""
        return (
            DIVERGENCES[self.divergence] if self.divergence != "alpha" else alpha_divergence(self.alpha or 0)
        )
