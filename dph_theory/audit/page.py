"""The page that the reports of the catalogue, of the trainers and of the policy losses make."""

from collections.abc import Callable, Sequence

from ..references import REFERENCES
from ..support.markdown import escaped, table
from .catalogue import Form, form_of
from .policy_losses import PolicyReport
from .policy_losses.page import section as policy_section
from .report import AuditReport
from .trainers import TRAINERS
from .words import both_words, dead_zone_words, match_words, minimiser_words, variance_words

_FIND = """\
# What does your KL do?

## Find your trainer

What a trainer's KL term descends, by version (or commit) and flag: `x = log(pi/ref)` of a sampled token,
*old* the policy that drew the samples, `clip(y, c)` is y within +-c; the words are explained below. A commit
is one at which the formula was read. For TRL as installed, with your own configuration, run
`dph audit --trl config.yaml`.

TRL's `use_bias_correction_kl` is False by default in the releases 0.26.0 to 1.9.1 and True from 1.10.0 on
(its pull request 6503): after that upgrade the same script descends another divergence, and selects another
model. verl's `kl_loss_type=full` is no loss: it raises NotImplementedError.
"""
_INTRODUCTION = """\
## How, and the words

A KL term in the loss of a language model is a few characters long, and they decide which divergence the
gradient descends. Below, the forms in circulation, each re-stated from its published formula, are audited.
This page is written by `dph audit --catalogue --page docs/what-does-your-kl-do.md`; to audit a loss of your
own, write a function of any of `log_pi`, `log_ref`, `log_old`, `advantages`, `mask`, tensors of shape
(batch, tokens), that returns a scalar, and run `dph audit FILE.py:function --samples policy`.

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
- *law* is what a run that ascends reward less this loss obeys where it ends: a penalty of the *whole
  answer*, or of *each token* at the prefixes sampled, in which case the KL of the tokens to come is left
  out; *neither* where the expected gradient on sequences is of no known kind.
- *selects* is the policy that this law tends to as the coefficient falls: the filtered model p_*; the
  *locally filtered model*, the reference with only the tokens kept from which a correct answer can be
  reached; the *token forward limit*, a third one; or, for rehearsal of correct samples, what it rehearses
  ([the laws](theorems/e03.md)).
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
    "selects",
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
    "selects",
    "variance",
    "dead zones",
    "nan",
)


def page(
    reports: Sequence[AuditReport], trainers: Sequence[AuditReport], policies: Sequence[PolicyReport]
) -> str:
    """The Markdown page made from the catalogue's, the trainers' and the policy losses' reports.

    Raises ValueError for a report of another loss.
    """
    found = [(form_of(report), report) for report in reports]
    parts = [_FIND, _trainers(trainers), policy_section(policies)]
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
        ("Selects the filtered model as its coefficient falls", lambda r: r.selects == "filtered model"),
        (
            "Selects the locally filtered model, as constrained decoding does",
            lambda r: r.selects == "locally filtered model",
        ),
        ("Selects the token forward limit, neither of the two", lambda r: r.selects == "token forward limit"),
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


def _trainers(reports: Sequence[AuditReport]) -> str:
    forms = {(form.name, form.samples): form for form in TRAINERS}
    rows = []
    for report in reports:
        form = forms[report.loss, report.samples]
        nan = [f"{e.dtype} from |x| = {min(map(abs, e.nan)):g}" for e in report.extremes if e.nan]
        rows.append(
            (
                *form.cells,
                *_found(report),
                variance_words(report),
                dead_zone_words(report),
                "; ".join(nan) or "none",
            )
        )
    return f"{table(_TRAINER_HEADERS, rows)}\n"


def _table(found: Sequence[tuple[Form, AuditReport]]) -> str:
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
    return f"## The table\n\n{table(_HEADERS, rows)}\n"


def _found(report: AuditReport) -> tuple[str, ...]:
    """What both tables tell of a loss: samples, value, gradient, law, and what it selects."""
    gradient = both_words(report.gradient, report.sequence_gradient)
    return _samples(report), match_words(report.value), gradient, report.law, report.selects


def _section(form: Form, report: AuditReport) -> str:
    return (
        f"## {escaped(form.name)}, {_samples(report)} samples\n\n"
        f"`{form.formula}`\n\n"
        f"Source: {escaped(form.source)}.\n\n"
        f"> {escaped(report.verdict)}\n"
    )


def _sources(used: Sequence[Form]) -> str:
    """The papers whose keys are cited, in the order of the bibliography."""
    cited = {form.source.split(",")[0] for form in used}
    lines = [
        escaped(f"- {key}: {paper.authors}, {paper.title}, {paper.where}.")
        for key, paper in REFERENCES.items()
        if key in cited
    ]
    return "\n".join(("## Papers", "", *lines, ""))
