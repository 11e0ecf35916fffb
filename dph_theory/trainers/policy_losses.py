"""Trainers' policy losses by version (or commit), file and setting: the rows stand in policy_losses.txt.

In the formulas r = pi/old of a token, A its advantage, sg holds its argument fixed; settings have their
trainer's defaults.
"""

from dataclasses import dataclass

from .kl_terms import Setting, rows
from .restated import Loss
from .surrogates import policy_loss


@dataclass(frozen=True)
class PolicyForm(Setting):
    """A trainer's policy loss under one setting: the arguments of `surrogates.policy_loss` as text."""

    formula: str
    surrogate: str
    reduction: str
    samples: str = "policy"

    @property
    def loss(self) -> Loss:
        """The function of log-probabilities."""
        name, *given = self.surrogate.split()
        reduction, *length = self.reduction.split()
        settings = dict(each.split("=") for each in given)
        numbers = {key: float(value) for key, value in settings.items() if not value.isalpha()}
        return policy_loss(name, reduction, length=float(*length or (1,)), **{**settings, **numbers})


POLICY_LOSSES: tuple[PolicyForm, ...] = tuple(
    PolicyForm(*of, formula, surrogate, reduction, "old_policy" if old else "policy")
    for of, (formula, surrogate, reduction, *old), _ in rows("policy_losses.txt")
)
"""By trainer, version or commit, file and setting."""
