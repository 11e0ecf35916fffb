"""The two pages that audits make: what KL terms and policy losses do, and what advantages weigh.

Run: python docs/audit_pages.py (a minute and a half of processor time)
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from dph_theory.audit.advantage import AdvantageReport, objective_words
from dph_theory.audit.catalogue import SIZES, audit_advantages, audit_catalogue, audit_kl_terms, form_of
from dph_theory.audit.policy_loss import PolicyReport, audit_policy_losses, off_words, zone_words
from dph_theory.audit.report import (
    AuditReport,
    both_words,
    dead_zone_words,
    match_words,
    minimiser_words,
    variance_words,
)
from dph_theory.methods.advantages import FORMS
from dph_theory.methods.estimators import PublishedLoss
from dph_theory.methods.kl_terms import FILTERED, FORWARD_LIMIT, KL_TERMS, LOCAL
from dph_theory.methods.policy_losses import POLICY_LOSSES
from dph_theory.references import REFERENCES
from dph_theory.support.table import Table, escaped

_FIND = """\
# What does your KL do?

## Find your trainer

What a trainer's KL term descends, by version (or commit) and flag: `x = log(pi/ref)` of a sampled token,
*old* the policy that drew the samples, `clip(y, c)` is y within +-c; the words are explained below and in the
[glossary](glossary.md). A commit
is one at which the formula was read. For TRL as installed, with your own configuration, run
`dph audit trainer config.yaml`: its own advantages and its own loss then run, on and off policy.

TRL's `use_bias_correction_kl` is False by default in the releases 0.26.0 to 1.9.1 and True from 1.10.0 on
(its pull request 6503): after that upgrade the same script descends another divergence, and ends at another
model. verl's `kl_loss_type=full` is no loss: it raises NotImplementedError.
"""
_INTRODUCTION = """\
## How, and the words

A KL term in the loss of a language model is a few characters long, and they decide which divergence the
gradient descends. Below, the forms in circulation, each re-stated from its published formula, are audited.
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
- *value estimates* is what the logged number estimates; *gradient descends* is what training on it does.
  The two can differ. Where the gradient on sequences is another, both are given. A *token sum* adds up the
  divergences of the next-token laws at the prefixes that the samples visit; *per token* says that the
  constant is divided by the number of tokens.
- *while* says how far an exact match was found to hold: log ratios of a token, to the reference and to the
  old policy, are searched to +-20, advantages from a hundredth to a hundredfold. *near* is what a loss that
  is exact nowhere else descends while all log ratios are near zero. *Nearest* is by the largest angle on any
  problem of three seeds; none is named from 45 degrees on.
- *law* is what a run that ascends reward less this loss obeys where it ends: a penalty of the *whole
  answer*, or of *each token* at the prefixes sampled, in which case the KL of the tokens to come is left
  out; *not known* where the expected gradient on sequences is of no known kind.
- *ends at* is the policy that training ends at with a small beta: the *filtered model* p_*, the base's right
  answers in the base's proportions; the *locally filtered model*, the base restricted, token by token, to
  what can still become a right answer; the *token forward limit*, a third one; or, for rehearsal of correct
  samples, what it rehearses (the laws (`E3`)).
- A clamp on the value, such as 10 in verl's low_var_kl, takes the gradient from tokens far below the
  reference. While no token is that far the term is what it is without the clamp; with a beta so small that
  wrong tokens fall below, they are no longer held, lose all their mass, and training ends at the locally
  filtered model. A clamp beyond |x| = 20 acts at no beta in use, and is left out of account here.
- *minimiser* is where the expected loss on filtered samples is least: it says what is being rehearsed.
- *variance* is that of the gradient from one sample, over the squared length of the exact gradient.
- *dead zones* are intervals of log(pi/ref) of a sampled token, searched from -700 to 700, where its gradient
  is zero: a clamp acts. Where float64's rounding swallows it, this is said so.
"""
_HEADERS = (
    "form",
    "source",
    "samples",
    "value estimates",
    "gradient descends",
    "law",
    "ends at",
    "minimiser",
    "variance",
    "dead zones",
)
_TRAINER_HEADERS = (
    "trainer",
    "version",
    "file",
    "flag",
    "formula",
    "samples",
    "value estimates",
    "gradient descends",
    "law",
    "ends at",
    "variance",
    "dead zones",
    "nan",
)


def loss_page(
    reports: Sequence[AuditReport], trainers: Sequence[AuditReport], policies: Sequence[PolicyReport]
) -> str:
    """The Markdown page made from the catalogue's, the trainers' and the policy losses' reports.

    Raises ValueError for a report of another loss.
    """
    found = [(form_of(report), report) for report in reports]
    parts = [_FIND, _kl_terms(trainers), _policy_losses(policies)]
    parts += [_INTRODUCTION, _in_short(reports), _table(found)]
    parts += [_section(form, report) for form, report in found]
    return "\n".join((*parts, _sources([form for form, _ in found])))


def _in_short(reports: Sequence[AuditReport]) -> str:
    """Who does what, by the findings that most often surprise."""
    findings: tuple[tuple[str, Callable[[AuditReport], bool]], ...] = (
        ("The gradient is zero in expectation", lambda r: r.gradient.name == "zero"),
        (
            "The value estimates one divergence, the gradient descends another",
            lambda r: r.value.exact and r.gradient.exact and r.gradient.name not in (_divergence(r), "zero"),
        ),
        (
            "The gradient is exact although the value is not an estimate of it",
            lambda r: not r.value.exact and r.gradient.exact and r.gradient.name != "zero",
        ),
        ("Rehearses the filtered model p_*", lambda r: _target(r) == "p_*"),
        ("Rehearses the reference's own pass rate on correct samples", lambda r: _target(r) == "base rate"),
        ("With a small beta, training ends at the filtered model", lambda r: r.selects == FILTERED),
        ("At the locally filtered model, as constrained decoding does", lambda r: r.selects == LOCAL),
        ("At the token forward limit, neither of the two", lambda r: r.selects == FORWARD_LIMIT),
        ("Has dead zones", lambda r: bool(r.dead_zones)),
        ("Becomes nan at large log ratios in float32 or bfloat16", lambda r: any(e.nan for e in r.extremes)),
    )
    lines = ["## In short", ""]
    for title, holds in findings:
        names = [f"{r.loss} ({_samples(r)})" for r in reports if holds(r)]
        lines.append(escaped(f"- {title}: {'; '.join(names) or 'none'}."))
    return "\n".join((*lines, ""))


def _divergence(report: AuditReport) -> str:
    """What the value estimates, less an additive constant, which has no gradient."""
    return report.value.name.removesuffix(" + log A1")


def _target(report: AuditReport) -> str | None:
    return None if report.minimiser is None else report.minimiser.target


def _samples(report: AuditReport) -> str:
    return report.samples.replace("_", " ")


def _kl_terms(reports: Sequence[AuditReport]) -> str:
    terms = {(term.title, term.samples): term for term in KL_TERMS}
    rows = []
    for report in reports:
        term = terms[report.loss, report.samples]
        nan = [f"{e.dtype} from |x| = {min(map(abs, e.nan)):g}" for e in report.extremes if e.nan]
        rows.append(
            (
                term.trainer,
                term.version,
                term.file,
                term.flags,
                term.formula,
                *_found(report),
                variance_words(report),
                dead_zone_words(report),
                "; ".join(nan) or "none",
            )
        )
    return f"{Table.of(_TRAINER_HEADERS, rows).markdown()}\n"


def _table(found: Sequence[tuple[PublishedLoss, AuditReport]]) -> str:
    rows = [
        (
            form.name,
            form.source,
            *_found(report),
            minimiser_words(report),
            variance_words(report),
            dead_zone_words(report),
        )
        for form, report in found
    ]
    return f"## The table\n\n{Table.of(_HEADERS, rows).markdown()}\n"


def _found(report: AuditReport) -> tuple[str, ...]:
    """What both tables tell of a loss: samples, value, gradient, law, and what it selects."""
    gradient = both_words(report.gradient, report.sequence_gradient)
    limits = report.sequence_limits or report.limits
    if report.near_sequence_gradient.exact:
        gradient += f"; near: {match_words(report.near_sequence_gradient)}"
    if limits:
        gradient += f", while {' and '.join(limit.words for limit in limits)}"
    return _samples(report), match_words(report.value), gradient, report.law, report.selects


def _section(form: PublishedLoss, report: AuditReport) -> str:
    return (
        f"## {escaped(form.name)}, {_samples(report)} samples\n\n"
        f"`{form.formula}`\n\n"
        f"Source: {escaped(form.source)}.\n\n"
        f"> {escaped(report.verdict)}\n"
    )


def _sources(used: Sequence[PublishedLoss]) -> str:
    """The papers whose keys are cited, in the order of the bibliography."""
    cited = {form.source.split(",")[0] for form in used}
    lines = [
        escaped(f"- {key}: {paper.authors}, {paper.title}, {paper.where}.")
        for key, paper in REFERENCES.items()
        if key in cited
    ]
    return "\n".join(("## Papers", "", *lines, ""))


_POLICY_LOSSES = """\
## What its policy loss descends

Beside the KL term stands a policy loss of the ratio `r = pi/old` and the advantage A, here with each
trainer's default constants. *At first* the policy is the old one, which drew the samples: all descend minus
the expected reward, and what penalises the ratio (kl_cov, dro, prime-rl) has no slope yet. Where the formula
holds `w = sg(pi)/sampler`, or W, its product over the answer, another engine sampled, and *at first* is on
its samples; so are the rows that leave out failures the policy has moved away from. The *value* is
zero where the advantages, less their mean, add up to nothing, and elsewhere it estimates no quantity: a
logged policy loss says nothing about the reward. *Law* and *ends at* are those of the loss alone; a KL term
beside it brings its own, above. *Lengths differ*: what it descends where answers have different numbers of
tokens, in large batches. *Later* the policy has moved, by half a standard normal in each logit, and the
samples stay: the angle between the expected gradient and the reward's, on answers of one token and of
several. *Stopped* are the ratios at which a sampled token has no slope whatever its probability is, if A is
positive and if it is negative; trust regions of probabilities (dppo, prime-rl) stop no ratio at all
probabilities. *nan*: where value or slope is nan.
"""
_POLICY_HEADERS = (
    "trainer",
    "version",
    "file",
    "setting",
    "what is maximised",
    "value at first",
    "at first descends",
    "law",
    "ends at",
    "lengths differ",
    "later",
    "stopped, A > 0",
    "stopped, A < 0",
    "variance",
    "nan",
)


def _policy_losses(reports: Sequence[PolicyReport]) -> str:
    """The table of the policy losses; ValueError for a report of another loss."""
    forms = {form.title: form for form in POLICY_LOSSES}
    rows = []
    for report in reports:
        if report.loss not in forms:
            raise ValueError(f"{report.loss} is no policy loss of the table")
        form, first = forms[report.loss], report.on_policy
        rows.append(
            (
                form.trainer,
                form.version,
                form.file,
                form.flags,
                form.formula,
                both_words(first.value, first.sequence_value),
                both_words(first.gradient, first.sequence_gradient),
                first.law,
                first.selects,
                "-" if first.unequal_gradient.name == "failed" else match_words(first.unequal_gradient),
                f"{off_words(report.later)}; several tokens: {off_words(report.sequence_later)}",
                zone_words(report.stopped_right),
                zone_words(report.stopped_wrong),
                variance_words(first),
                "; ".join(f"{dtype} from |log r| = {x:g}" for dtype, x in report.nan) or "none",
            )
        )
    return "\n".join((_POLICY_LOSSES, Table.of(_POLICY_HEADERS, rows).markdown(), ""))


_ADVANTAGES = """\
# What does your advantage weigh?

An advantage turns the rewards of a group of G answers into weights, and decides which prompts a run works on.
With verdicts of zero and one, and a prompt of pass rate V, the expected on-policy gradient of an advantage is
`alpha_G(V) grad V`: below are the exact weights `alpha_G`, by enumerating every outcome of a group, and the
objective `J_G` whose derivative they are. This page is written by
`python docs/audit_pages.py`; to audit your own, write a
function of rewards (groups, G) that returns advantages of that shape, and run
`dph audit advantage FILE.py:function --group-size 8`.

Where the weight is the same at every V, the advantage maximises the pass rate itself.
`pass@k = 1 - (1-V)^k`; `log V truncated at order m` is the sum of `pass@k/k` to `k = m`; the arcsine's
objective is that of dividing by the group's deviation, which tends to `2 arcsin sqrt V` as G grows. At finite
G it is not that: the weight is bounded by (G-1)/sqrt G, and at G = 2 and 3 it does not depend on V at all.

![The weight against the pass rate, for each advantage](img/what_your_advantage_weighs.svg)
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
        weights = [f"{weight:.4g}" for weight in report.weight]
        rows.append(
            (form.name, form.source, form.formula, str(report.group_size), maximises(report), *weights)
        )
    verdicts = [f"- {escaped(report.verdict)}" for report in reports if report.group_size == SIZES[1]]
    start = (_ADVANTAGES, "## The weights", "", Table.of(_ADVANTAGE_HEADERS, rows).markdown(), "")
    return "\n".join((*start, "## In words", "", *verdicts, ""))


def maximises(report: AdvantageReport) -> str:
    """The objective's name; "-" where groups are replaced, which has none at one pass rate."""
    return objective_words(report.maximises) if report.objective else "-"


def main() -> None:
    """Audit everything published, and write both pages."""
    docs = Path(__file__).parent
    losses = loss_page(audit_catalogue(), audit_kl_terms(), audit_policy_losses())
    (docs / "what-does-your-kl-do.md").write_text(losses, encoding="utf-8")
    advantages = advantage_page(audit_advantages())
    (docs / "what-does-your-advantage-weigh.md").write_text(advantages, encoding="utf-8")


if __name__ == "__main__":
    main()
