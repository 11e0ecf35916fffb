"""The policy losses' part of the page on losses."""

from collections.abc import Sequence

from ...support.markdown import table
from ..report import Match
from ..verdict import angle_words
from ..words import both_words, match_words, variance_words
from .report import PolicyReport, Zones
from .table import POLICY_LOSSES

_INTRODUCTION = """\
## What its policy loss descends

Beside the KL term stands a policy loss of the ratio `r = pi/old` and the advantage A, here with each
trainer's default constants. *At first* the policy is the old one, which drew the samples: all descend minus
the expected reward, and what penalises the ratio (kl_cov, dro, prime-rl) has no slope yet. The *value* is
zero where the advantages, less their mean, add up to nothing, and elsewhere it estimates no quantity: a
logged policy loss says nothing about the reward. *Law* and *selects* are those of the loss alone; a KL term
beside it brings its own, above. *Lengths differ*: what it descends where answers have different numbers of
tokens, in large batches. *Later* the policy has moved, by half a standard normal in each logit, and the
samples stay: the angle between the expected gradient and the reward's, on answers of one token and of
several. *Stopped* are the ratios at which a sampled token has no slope whatever its probability is, if A is
positive and if it is negative; trust regions of probabilities (dppo, prime-rl) stop no ratio at all
probabilities. *nan*: where value or slope is nan.
"""
_HEADERS = (
    "trainer",
    "version",
    "file",
    "setting",
    "what is maximised",
    "value at first",
    "at first descends",
    "law",
    "selects",
    "lengths differ",
    "later",
    "stopped, A > 0",
    "stopped, A < 0",
    "variance",
    "nan",
)


def section(reports: Sequence[PolicyReport]) -> str:
    """The table of the policy losses; ValueError for a report of another loss."""
    forms = {form.name: form for form in POLICY_LOSSES}
    rows = []
    for report in reports:
        if report.loss not in forms:
            raise ValueError(f"{report.loss} is no policy loss of the table")
        form, first = forms[report.loss], report.on_policy
        rows.append(
            (
                *form.cells,
                both_words(first.value, first.sequence_value),
                both_words(first.gradient, first.sequence_gradient),
                first.law,
                first.selects,
                "-" if first.unequal_gradient.name == "failed" else match_words(first.unequal_gradient),
                f"{_off(report.later)}; several tokens: {_off(report.sequence_later)}",
                zone_words(report.stopped_right),
                zone_words(report.stopped_wrong),
                variance_words(first),
                "; ".join(f"{dtype} from |log r| = {x:g}" for dtype, x in report.nan) or "none",
            )
        )
    return "\n".join((_INTRODUCTION, table(_HEADERS, rows), ""))


def _off(match: Match) -> str:
    """The reward's gradient exactly, or its angle to it."""
    return "exact" if match.exact else angle_words(match.angle or 0.0) if match.name != "failed" else "-"


def zone_words(zones: Zones) -> str:
    """Such as: r >= 1.2; r <= 2.1e-09."""
    words = []
    for low, high in zones:
        if high == float("inf"):
            words.append(f"r >= {low:.3g}")
        elif low == 0.0:
            words.append(f"r <= {high:.3g}")
        else:
            words.append(f"{low:.3g} <= r <= {high:.3g}")
    return ", ".join(words) or "none"
