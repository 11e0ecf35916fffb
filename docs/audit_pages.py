"""The two pages that audits make: what KL terms and policy losses do, and what advantages weigh.

Run: python docs/audit_pages.py (some minutes of processor time), or make audit-pages
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dph_theory.audit.advantage import AdvantageReport, objective_words
from dph_theory.audit.catalogue import SIZES, audit_advantages, audit_catalogue, form_of
from dph_theory.audit.report import AuditReport
from dph_theory.references import REFERENCES
from dph_theory.support.table import Table, escaped
from dph_theory.trainers.advantages import FORMS

_FIND = """\
# Appendix: KL terms and policy losses, audited

**What does each published KL term and policy loss minimise?** What follows from it is on
[what does your trainer's KL term do?](../your-trainers-kl.md).

## Find your trainer

What a trainer's KL term minimises, by version (or commit) and flag: `x = log(pi/ref)` of a sampled token,
*old* the policy that drew the samples, `clip(y, c)` is y within +-c; the words are explained below and in the
[glossary](../glossary.md). A commit
is one at which the formula was read. For TRL as installed, with your own configuration, run
`dph audit trainer config.yaml`: its own advantages and its own loss then run, on and off policy.

TRL's `use_bias_correction_kl` is False by default in the releases 0.26.0 to 1.9.1 and True from 1.10.0 on
(its pull request 6503): after that upgrade the same script minimises another divergence.
verl's `kl_loss_type=full` is no loss: it raises NotImplementedError.
"""
_INTRODUCTION = """\
## How, and the words

A KL term in the loss of a language model is a few characters long, and they decide which divergence it
minimises. Below, the forms in circulation, each re-stated from its published formula, are audited.
This page is written by `python docs/audit_pages.py`; to audit a loss of your own,
write a function of any of `log_pi`, `log_ref`, `log_old`, `advantages`, `mask`, tensors of shape
(batch, tokens), that returns a scalar, and run `dph audit loss FILE.py:function --samples policy`.

How: on random problems small enough to list every outcome and every sequence of tokens, the loss's value and
its gradient are summed over all samples with their exact probabilities, in float64. Nothing is sampled, so
"exactly" means agreement to rounding on every problem, and "zero" means zero. The samples are held fixed, as
an optimiser holds them; the sum is compared with the known divergences' own values and gradients.

The words:

- *pi* is the policy, *ref* the reference, *old* the policy that drew the samples; `u = pi/ref`, `r = ref/pi`;
  `sg` holds its argument fixed; `mean_t` and `sum_t` run over the tokens that count.
- *samples* are drawn from the policy, an old policy, the reference, or are *filtered*: correct samples of
  the reference. p_* is the reference restricted to correct answers, A1 the reference's pass rate.
- *value estimates* is what the logged number estimates; *gradient of* is what training on it minimises.
  The two can differ. Both are given on answers of several tokens where they are exact there, the gradient
  else on single tokens. A divergence *of each token* is the sum of those of the next-token distributions at
  the prefixes that the samples visit.
- *while* says how far an exact match was found to hold: log ratios of a token, to the reference and to the
  old policy, are searched to +-20, advantages from a hundredth to a hundredfold. *near* is what a loss that
  is exact nowhere else minimises while all log ratios are near zero. *Nearest* is by the largest angle on any
  problem of three seeds; none is named from 45 degrees on.
- *acts on*: a run that maximises reward less this loss is penalised by the KL of the *whole answer*, or of
  *each token* at the prefixes sampled, in which case the KL of the tokens to come is left out; *not known*
  where the expected gradient on sequences is of no known kind.
- *converges to* is the policy that training converges to with a small beta: the *filtered model* p_*, the
  base's correct answers in the base's proportions; the *locally filtered model*, the base restricted, token
  by token, to what can still become a correct answer; the *token forward limit*, a third one; or, for
  rehearsal of correct samples, what it rehearses.
- A clamp on the value, such as 10 in verl's low_var_kl, takes the gradient from tokens far below the
  reference. While no token is that far the term is what it is without the clamp; with a beta so small that
  incorrect tokens fall below, nothing constrains them any longer, they lose all their mass, and training
  converges to the locally filtered model. A clamp beyond |x| = 20 acts at no beta in use, and is left out
  of account here.
- *minimiser* is where the expected loss on filtered samples is least: it says what is being rehearsed.
- *variance* is that of the gradient from one sample, over the squared length of the exact gradient.
- *overflow*: the log ratios beyond which value or slope is infinite or nan, in each dtype.
- *zero-gradient regions* are intervals of log(pi/ref) of a sampled token, searched from -700 to 700, where
  its gradient is zero: a clamp acts. Where float64's rounding swallows it, this is said so.
"""
_FOUND = (
    "samples",
    "value estimates",
    "gradient of",
    "acts on",
    "converges to",
    "variance",
    "zero-gradient regions",
    "overflow",
)
_TRAINER = ("trainer", "version", "file", "flags", "formula")


def loss_page(
    reports: Sequence[AuditReport],
    trainers: Sequence[AuditReport],
    policies: Sequence[tuple[AuditReport, AuditReport]],
) -> str:
    """The Markdown page of the published losses', the trainers' KL terms' and their policy losses' audits.

    Raises ValueError for a report of another loss.
    """
    forms = [form_of(report) for report in reports]
    terms = [(*_of(form_of(r, "KL terms")), *_found(r)) for r in trainers]
    losses = [
        (form.title, form.source, form.formula, *_found(r), r.minimiser.words if r.minimiser else "-")
        for form, r in zip(forms, reports, strict=True)
    ]
    parts = (
        _FIND,
        _table((*_TRAINER, *_FOUND), terms),
        _POLICY_LOSSES,
        _table(
            (*_TRAINER, *_FOUND, "lengths differ", "later", "zero gradient"),
            [_policy(*two) for two in policies],
        ),
        _INTRODUCTION,
        "## The table\n",
        _table(("form", "source", "formula", *_FOUND, "minimiser"), losses),
        "## In words\n",
        *(f"- {escaped(report.verdict)}" for report in reports),
        "\n## Papers\n",
    )
    cited = {form.source.split(",")[0] for form in forms}
    papers = [
        escaped(f"- {key}: {paper.authors}, {paper.title}, {paper.where}.")
        for key, paper in REFERENCES.items()
        if key in cited
    ]
    return "\n".join((*parts, *papers, ""))


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"{Table.from_rows(headers, rows).markdown()}\n"


def _of(form: Any) -> tuple[str, ...]:
    return tuple(getattr(form, name) for name in _TRAINER)


def _found(report: AuditReport) -> tuple[str, ...]:
    """What every table says of a loss."""
    return (
        report.samples.replace("_", " "),
        report.value.words if report.value.exact else "-",
        gradient_of(report),
        report.acts_on,
        report.selects,
        "-" if report.variance is None else f"{report.variance:.2g}",
        report.dead,
        report.overflow or "-",
    )


def gradient_of(report: AuditReport) -> str:
    """Whose gradient it has, on what, and while what."""
    limits = f", while {' and '.join(limit.words for limit in report.limits)}" if report.limits else ""
    single = f"on {report.scope}: " if report.descended.exact and report.scope != "answers" else ""
    return f"{single}{report.gradient_words}{limits}"


def _policy(first: AuditReport, later: AuditReport) -> tuple[str, ...]:
    unequal, stopped = first.unequal_gradient.words, ", ".join(zone.words for zone in first.stopped)
    form = form_of(first, "policy losses")
    return (*_of(form), *_found(first), unequal, gradient_of(later), stopped or "none")


_POLICY_LOSSES = """\
## What its policy loss minimises

Beside the KL term stands a policy loss of the ratio `r = pi/old` and the advantage A, here with each
trainer's default constants. *At first* the policy is the old one, which drew the samples: all minimise minus
the expected reward, and what penalises the ratio (kl_cov, dro, prime-rl) has no gradient yet. Where the
formula has `w = sg(pi)/sampler`, or W, its product over the answer, another engine sampled, and *at first* is
on its samples; so are the rows that leave out failures the policy has moved away from. The *value* is zero
where the advantages, less their mean, add up to nothing, and elsewhere it estimates no quantity: a logged
policy loss says nothing about the reward. *Acts on* and *converges to* are those of the loss alone; a KL term
beside it brings its own, above. *Lengths differ*: what it minimises where answers have different numbers of
tokens, in large batches. *Later* the policy has moved, by half a standard normal in each logit, and the
samples stay: what the loss minimises then, and while what ratios. *Zero gradient* are the ratios at which a
sampled token has none whatever its probability is, if A is positive and if it is negative; trust regions of
probabilities (dppo, prime-rl) stop no ratio at all probabilities.
"""

_ADVANTAGES = """\
# Appendix: advantages, audited

**How does each published advantage weight prompts?** In words:
[predict](../predict.md#how-the-advantage-weights-prompts).

An advantage turns the rewards of a group of G answers into weights, and decides which prompts a run works on.
With rewards of zero and one, and a prompt of pass rate V, the expected on-policy gradient of an advantage is
`alpha_G(V) grad V`: below are the exact weights `alpha_G`, by enumerating every outcome of a group, and the
objective `J_G` whose derivative they are. This page is written by
`python docs/audit_pages.py`; to audit your own, write a
function of rewards (groups, G) that returns advantages of that shape, and run
`dph audit advantage FILE.py:function --group-size 8`.

Where the weight is the same at every V, the advantage maximises the pass rate itself.
`pass@k = 1 - (1-V)^k`; `log V truncated at order m` is the sum of `pass@k/k` to `k = m`; the arcsine's
objective is that of dividing by the group's std, which tends to `2 arcsin sqrt V` as G grows. At finite
G it is not that: the weight is bounded by (G-1)/sqrt G, and at G = 2 and 3 it does not depend on V at all.

![The weight against the pass rate, for each advantage](../img/what_your_advantage_weighs.svg)
"""
_ADVANTAGE_HEADERS = (
    "form",
    "source",
    "formula",
    "G",
    "maximises",
    "V = .01",
    ".1",
    ".25",
    ".5",
    ".75",
    ".9",
    ".99",
)


def advantage_page(reports: Sequence[AdvantageReport]) -> str:
    """The Markdown page of the catalogue's reports."""
    forms = {form.name: form for form in FORMS}
    rows = []
    for report in reports:
        form = forms[report.advantage]
        start = (form.name, form.source, form.formula, str(report.group_size))
        rows.append((*start, maximises(report), *(f"{weight:.4g}" for weight in report.weight)))
    verdicts = [f"- {escaped(report.verdict)}" for report in reports if report.group_size == SIZES[1]]
    start = (_ADVANTAGES, "## The weights", "", Table.from_rows(_ADVANTAGE_HEADERS, rows).markdown(), "")
    return "\n".join((*start, "## In words", "", *verdicts, ""))


def maximises(report: AdvantageReport) -> str:
    """The objective's name; "-" where groups are replaced, which has none at one pass rate."""
    return objective_words(report.maximises) if report.objective else "-"


def main() -> None:
    """Audit everything published, and write both pages."""
    docs = Path(__file__).parent
    first = audit_catalogue("policy losses")
    later = audit_catalogue("policy losses", samples="old_policy")
    policies = list(zip(first, later, strict=True))
    losses = loss_page(audit_catalogue(), audit_catalogue("KL terms"), policies)
    (docs / "appendix" / "kl-terms.md").write_text(losses, encoding="utf-8")
    advantages = advantage_page(audit_advantages())
    (docs / "appendix" / "advantages.md").write_text(advantages, encoding="utf-8")


if __name__ == "__main__":
    main()
