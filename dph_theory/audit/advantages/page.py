"""The table of an advantage's audit, and the page that the catalogue of advantages makes."""

from collections.abc import Sequence

from rich import table as rich_table

from ...support.markdown import escaped, table
from .forms import FORMS
from .objectives import words
from .report import AdvantageReport, audit_advantage

SIZES = (4, 8, 16)
_INTRODUCTION = """\
# What does your advantage weigh?

An advantage turns the rewards of a group of G answers into weights, and decides which prompts a run works on.
With verdicts of zero and one, and a prompt of pass rate V, the expected on-policy gradient of an advantage is
`alpha_G(V) grad V`: below are the exact weights `alpha_G`, by enumerating every outcome of a group, and the
objective `J_G` whose derivative they are. This page is written by
`dph audit --catalogue --advantage --page docs/what-does-your-advantage-weigh.md`; to audit your own, write a
function of rewards (groups, G) that returns advantages of that shape, and run
`dph audit FILE.py:function --advantage --group-size 8`.

Where the weight is the same at every V, the advantage maximises the pass rate itself.
`pass@k = 1 - (1-V)^k`; `log V truncated at order m` is the sum of `pass@k/k` to `k = m`; the arcsine's
objective is that of dividing by the group's deviation, which tends to `2 arcsin sqrt V` as G grows. At finite
G it is not that: the weight is bounded by (G-1)/sqrt G, and at G = 2 and 3 it does not depend on V at all.

![The weight against the pass rate, for each advantage](img/what_your_advantage_weighs.svg)
"""
_COUPLED = """\
## Advantages that couple the groups of a batch

Normalised over a batch, what a prompt weighs depends on the prompts beside it: no objective of its own pass
rate alone is maximised. Below are two groups of G, the second of pass rate V', all outcomes enumerated.
Beside groups of its own pass rate V, REINFORCE++ in a batch of B groups is GRPO with the sample deviation at
B G answers; in a large batch its weight tends to one over the deviation of all verdicts, the same for every
prompt.
"""
_HEADERS = ("form", "source", "formula", "G", "maximises", "V = .01", ".1", ".25", ".5", ".75", ".9", ".99")


def catalogue(sizes: Sequence[int] = SIZES) -> list[AdvantageReport]:
    """The audits of every form at every group size, forms first."""
    return [
        audit_advantage(form.advantage, group_size=size, name=form.name, drops_equal_groups=form.drops)
        for form in FORMS
        for size in sizes
        if size <= form.largest_group
    ]


def page(reports: Sequence[AdvantageReport]) -> str:
    """The Markdown page of the catalogue's reports."""
    forms = {form.name: form for form in FORMS}
    rows = []
    for report in reports:
        form = forms[report.advantage]
        weights = [f"{weight:.4g}" for weight in report.weight]
        rows.append(
            (form.name, form.source, form.formula, str(report.group_size), maximises(report), *weights)
        )
    verdicts = [f"- {escaped(report.verdict)}" for report in reports if report.group_size == SIZES[1]]
    start = (_INTRODUCTION, "## The weights", "", table(_HEADERS, rows), "")
    return "\n".join((*start, _COUPLED, _coupled(reports), "", "## In words", "", *verdicts, ""))


def _coupled(reports: Sequence[AdvantageReport]) -> str:
    """A row for each group size and pass rate of the other group."""
    rows = [
        (report.advantage, str(report.group_size), f"{other:g}", *(f"{w:.4g}" for w in weights))
        for report in reports
        for other, weights in report.beside
    ]
    return table(("form", "G", "V'", *_HEADERS[5:]), rows)


def maximises(report: AdvantageReport) -> str:
    """The objective's name; "-" where groups are replaced, which has none at one pass rate."""
    return words(report.maximises) if report.objective else "-"


def findings(report: AdvantageReport) -> rich_table.Table:
    """One row a pass rate."""
    headers = ("V", "weight", "J_G", "baseline adds", "variance")
    more = [f"weight, G = {size}" for size, _ in report.other_sizes]
    shown = rich_table.Table(*headers, *more, pad_edge=False)
    for i, validity in enumerate(report.validities):
        cells = [report.weight, report.objective, report.baseline_bias, report.variance]
        cells += [weights for _, weights in report.other_sizes]
        shown.add_row(f"{validity:g}", *(f"{cell[i]:.4g}" if cell else "-" for cell in cells))
    return shown
