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
