"""What a run's settings amount to, in the words that all readers share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..losses.kl_terms import ENDS, KLTerm
from ..losses.objective import Objective, Weight
from ..support.notebook import Shown
from ..support.table import Table
from .settings import TrainerSettings


@dataclass(frozen=True)
class RehearsedPrompts:
    """What is rehearsed on solved prompts: the method, its coefficient eta, and in words its target there."""

    method: str
    eta: float
    target: str

    @property
    def words(self) -> str:
        """Such as: solved prompts (D_pef) are rehearsed by DPH-F, eta 0.05, towards a pass rate of one."""
        by = f"{self.method}, eta {self.eta:g}, towards {self.target}"
        return f"solved prompts (D_pef) are rehearsed by {by}; the others (D_exp) are explored"


@dataclass(frozen=True, repr=False)
class Configuration(Shown):
    """What a run's settings amount to.

    version: the one whose defaults and arithmetic were read; penalty: the KL term in symbols, with its
    coefficient; stationary_kl: the KL at its stationary policy; selects: that policy with a small
    coefficient, one of `kl_terms.ENDS` or what stands for it; objective: what the run optimises; sampling:
    what temperature, truncation, a moving reference, masks, other rewards and old answers do, moved_by those
    that change the stationary policy; inert: settings without effect here; harmless: those not read that
    change none; not_read: the others, which may; warnings: what a reader should know; by_version: of a file
    whose version is not known, what those versions make of it that differ, the oldest first; rehearsal: what
    is rehearsed, if anything.
    """

    trainer: str
    version: str
    penalty: str
    stationary_kl: str
    selects: str
    objective: Objective
    sampling: tuple[str, ...] = ()
    moved_by: tuple[str, ...] = ()
    inert: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    by_version: "tuple[Configuration, ...]" = ()
    rehearsal: RehearsedPrompts | None = None

    def with_objective(self, **changes: Any) -> "Configuration":
        """The same with other fields of its objective."""
        return replace(self, objective=replace(self.objective, **changes))

    def summary(self) -> str:
        """The KL term, what it converges to, then what a reader should know."""
        lines = [f"{self.trainer} {self.version}: {self.penalty}", self.stationary_kl]
        if self.not_read:
            lines.append(f"not read: may change what the run converges to: {', '.join(self.not_read)}")
        return "\n".join((*lines, *self.sampling, *self.warnings))

    def tables(self) -> list[Table]:
        """Everything, a row each; rows that have nothing to say are left out."""
        run = self.objective
        end = f"{ENDS[self.selects]} (the {self.selects})" if self.selects in ENDS else self.selects
        rows = [
            ("penalty", self.penalty or "-"),
            ("stationary KL", self.stationary_kl or "-"),
            ("converges, with a small coefficient, to", end),
            ("rehearsal", self.rehearsal.words if self.rehearsal else ""),
            ("advantage", run.advantage.words),
            ("reduction", run.reduction),
            ("sampler", run.sampler),
            ("updates of a batch", "not given" if run.updates is None else f"{run.updates:g}"),
            ("what sampling does", "\n".join(self.sampling)),
            ("without effect here", "\n".join(self.inert)),
            ("not read: may change what the run converges to", "\n".join(self.not_read)),
            ("not read, and changes nothing here", ", ".join(self.harmless)),
            ("look out", "\n".join(self.warnings)),
        ]
        return [Table.from_rows((f"{self.trainer} {self.version}", ""), [row for row in rows if row[1]])]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, the objective's fields among the others; the KL term by its symbols."""
        fields = {**vars(self), **vars(self.objective), **self.objective.advantage._asdict()}
        fields["advantage"] = fields.pop("words")
        fields["rehearsal"] = self.rehearsal and vars(self.rehearsal)
        del fields["objective"], fields["term"], fields["by_version"]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


UNPENALISED = "none: no KL to the base"
NOWHERE = (
    "nothing of the base: the pass rate tends to 1, and sampling noise decides which correct answers stay"
)
UNGROUPED = "the settings do not say how many answers a prompt has"
BOTH = "of the sum of a KL in the loss and one in the reward no stationary policy is known"
TRAP = (
    "penalised rewards are std-normalised: where training converges their std is zero, and the gradient "
    "noise does not shrink with more groups"
)


def configured(
    settings: TrainerSettings,
    kls: Sequence[tuple[KLTerm, float]],
    weight: Weight,
    *,
    divides_kl: bool = False,
    inert: Sequence[str] = (),
    warnings: Sequence[str] = (),
    unpredicted: str = "",
    not_read: Sequence[str] = (),
    **optimised: Any,
) -> Configuration:
    """The configuration with these KL terms and their coefficients, each on where its coefficient is above 0.

    divides_kl: whether rewards that hold the KL are normalised; optimised: other fields of the objective.
    """
    on = [(kl, coefficient, f"{coefficient:g} x {_in_symbols(kl)}") for kl, coefficient in kls if coefficient]
    acting = [(kl, coefficient) for kl, coefficient, _ in on if not _is_zero(kl)]
    zero = [penalty for kl, _, penalty in on if _is_zero(kl)]
    inert = [*inert, *(f"k1 in the loss, {penalty}: its expected gradient is zero" for penalty in zero)]
    stationary_kl, selects, reason = UNPENALISED, NOWHERE, ""
    kl: KLTerm | None
    kl, coefficient = acting[0] if acting else (kls[0][0], 0.0)
    if len(acting) > 1:
        kl = None
        stationary_kl, selects, reason = f"not known: {BOTH}", "not known", BOTH
    elif acting and kl is not None:
        stationary_kl, selects, reason = kl.stationary_kl, kl.selects, kl.unknown
    if acting and divides_kl:
        warnings = [*warnings, TRAP]
        reason = reason or "the KL is std-normalised along with the rewards"
    why = unpredicted or reason or weight.unknown
    return Configuration(
        trainer=settings.trainer,
        version=settings.version,
        penalty=" + ".join(penalty for _, _, penalty in on) or "none",
        stationary_kl=stationary_kl,
        selects=selects,
        objective=Objective(weight, term=kl, coefficient=coefficient, unpredicted=why, **optimised),
        inert=tuple(inert),
        warnings=tuple(warnings),
        not_read=tuple(not_read),
    )


def _in_symbols(kl: KLTerm) -> str:
    """The term's formula, in brackets where it is a sum."""
    is_sum = kl.place == "loss" and kl.estimator == "k3" and kl.outer is None
    return f"({kl.formula})" if is_sum else kl.formula


def _is_zero(kl: KLTerm) -> bool:
    """Whether the term's expected gradient is zero: that of log pi/ref itself in the loss."""
    return (kl.place, kl.estimator) == ("loss", "k1")
