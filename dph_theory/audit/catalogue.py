"""The audit of the KL terms in circulation, and of the trainers' own."""

from collections.abc import Callable, Sequence
from functools import partial

from ..methods.advantages import FORMS
from ..methods.estimators import CATALOGUE, PublishedLoss
from ..methods.kl_terms import KL_TERMS
from ..support.processes import in_order
from .advantage import AdvantageReport, audit_advantage
from .loss import audit
from .report import AuditReport


def form_of(report: AuditReport) -> PublishedLoss:
    """The catalogue's form that a report is about; ValueError if there is none."""
    for form in CATALOGUE:
        if (form.name, form.samples) == (report.loss, report.samples):
            return form
    raise ValueError(f"{report.loss} on {report.samples} samples is no form of the catalogue")


def audit_form(index: int, seed: int) -> AuditReport:
    """The audit of one form of the catalogue."""
    form = CATALOGUE[index]
    return audit(form.loss, samples=form.samples, name=form.name, seed=seed)


def audit_catalogue(
    *, seed: int = 0, on_report: Callable[[AuditReport], None] | None = None
) -> list[AuditReport]:
    """Audit every form in two processes; the reports are in the catalogue's order.

    `on_report` is called as each ends. An interruption ends the workers and is passed on.
    """
    return in_order(partial(audit_form, seed=seed), range(len(CATALOGUE)), on_result=on_report)


def audit_kl_term(index: int, seed: int) -> AuditReport:
    """The audit of one trainer's KL term."""
    term = KL_TERMS[index]
    return audit(term.loss, samples=term.samples, name=term.title, seed=seed)


def audit_kl_terms(*, seed: int = 0) -> list[AuditReport]:
    """Audit every trainer's KL term in two processes, in the table's order."""
    return in_order(partial(audit_kl_term, seed=seed), range(len(KL_TERMS)))


SIZES = (4, 8, 16)
"""Group sizes at which advantages are audited."""


def audit_advantages(sizes: Sequence[int] = SIZES) -> list[AdvantageReport]:
    """The audits of every form at every group size, forms first."""
    return [
        audit_advantage(form.advantage, group_size=size, name=form.name, drops_equal_groups=form.drops)
        for form in FORMS
        for size in sizes
        if size <= form.largest_group
    ]
