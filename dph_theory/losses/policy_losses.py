"""Trainers' policy losses by version (or commit), file and setting: the rows stand in policy_losses.txt.

In the formulas r = pi/old of a token, A its advantage, sg holds its argument fixed; settings have their
trainer's defaults.
"""

import re
from dataclasses import dataclass

from .kl_terms import Setting, rows
from .restated import Loss
from .surrogates import policy_loss

METHODS = {
    "clip.*level=held": "GSPO-token",
    "clip.*level=sequence .*sequence_sum": "LUSPO",
    "clip.*level=sequence": "GSPO",
    "(clip low=1 high|truncated most)=1e30": "importance sampling",
    "clip.*dual": "dual-clip PPO",
    "clip.*delta": "two-sided clipping",
    "clip.*token_mean": "DAPO",
    "clip.*sequence_mean": "GRPO",
    "clip.*sequence_sum": "Dr. GRPO",
    "reinforce": "REINFORCE",
    "cispo": "CISPO",
    "sapo": "SAPO",
    "vespo": "VESPO",
    "geo_mean": "GMPO",
    "dppo": "DPPO",
    "masked": "a masked ratio",
    "dro": "DRO",
    "kl_cov": "KL-Cov",
    "clip_cov": "Clip-Cov",
    "opsm": "OPSM",
    "truncated": "TIS",
    "within_bounds": "IcePop",
}
"""The methods' names, by a pattern of surrogate and reduction; the first that fits."""


@dataclass(frozen=True)
class PolicyForm(Setting):
    """A trainer's policy loss under one setting: the arguments of `surrogates.policy_loss` as text."""

    formula: str
    surrogate: str
    reduction: str
    samples: str = "policy"

    @property
    def words(self) -> str:
        """Such as: CISPO as TRL 1.16 has it (loss_type=cispo)."""
        key = f"{self.surrogate} {self.reduction}"
        method = next(name for pattern, name in METHODS.items() if re.match(pattern, key))
        return f"{method} as {self.trainer} {self.version} has it ({self.flags.removesuffix(' (default)')})"

    @property
    def loss(self) -> Loss:
        """The function of log-probabilities."""
        form, *assignments = self.surrogate.split()
        reduction, *length = self.reduction.split()
        settings = dict(assignment.split("=") for assignment in assignments)
        numbers = {name: float(value) for name, value in settings.items() if not value.isalpha()}
        return policy_loss(form, reduction, length=float(*length or (1,)), **{**settings, **numbers})


POLICY_LOSSES: tuple[PolicyForm, ...] = tuple(
    PolicyForm(*source, formula, surrogate, reduction, "old_policy" if old else "policy")
    for source, (formula, surrogate, reduction, *old), _ in rows("policy_losses.txt")
)
"""By trainer, version or commit, file and setting."""
