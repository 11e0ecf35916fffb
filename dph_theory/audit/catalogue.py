"""Audits of published KL terms, policy losses and advantages of papers and trainers."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..losses.advantages import FORMS
from ..losses.kl_terms import KL_TERMS
from ..losses.policy_losses import POLICY_LOSSES
from ..support.processes import in_order
from .advantage import AdvantageReport, audit_advantage
from .loss import audit
from .published import CATALOGUE
from .report import AuditReport

LOSSES: Mapping[str, Sequence[Any]] = {
    "published": CATALOGUE,
    "KL terms": KL_TERMS,
    "policy losses": POLICY_LOSSES,
}
"""Tables of losses, each with a `title`, `loss` and `samples`."""
PAPERS = "papers"
"""Trainer of the losses of papers."""
SIZES = (4, 8, 16)
"""Group sizes at which advantages are audited."""


def audit_form(
    index: int, table: str = "published", *, seed: int = 0, samples: str | None = None
) -> AuditReport:
    """Audit one form of a table of LOSSES, on its own kind of samples or on `samples`."""
    form = LOSSES[table][index]
    return audit(form.loss, samples=samples or form.samples, name=form.title, seed=seed)


def audit_catalogue(
    table: str = "published",
    *,
    seed: int = 0,
    trainer: str | None = None,
    on_report: Callable[[AuditReport], None] | None = None,
) -> list[AuditReport]:
    """Audit every form of a table, or of a trainer in it, in two processes; reports in its order.

    `on_report` is called as each ends. An interruption ends the workers and is passed on.
    """
    forms = enumerate(getattr(form, "trainer", PAPERS) for form in LOSSES[table])
    chosen = [index for index, name in forms if trainer in (None, name)]
    return in_order(partial(audit_form, table=table, seed=seed), chosen, on_result=on_report)


def form_of(report: AuditReport, table: str = "published") -> Any:
    """Return the form (loss with title and samples) that a report is about; ValueError if none is."""
    for form in LOSSES[table]:
        if (form.title, form.samples) == (report.loss, report.samples):
            return form
    raise ValueError(f"{report.loss} on {report.samples} samples is no form of the table {table!r}")


def audit_advantages(sizes: Sequence[int] = SIZES) -> list[AdvantageReport]:
    """Audit every published advantage at each group size in `sizes` up to its largest, form by form."""
    return [
        audit_advantage(form.advantage, group_size=size, name=form.name, drops_equal_groups=form.drops)
        for form in FORMS
        for size in sizes
        if size <= form.largest_group
    ]
