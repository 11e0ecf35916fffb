"""Test of a loss against the objective that it is meant to minimise."""

import math
from collections.abc import Mapping

from ..support.errors import argument_error, choice
from .argument_names import Loss, arguments_of
from .domain import FARTHEST
from .loss import audit
from .report import ANSWERS, PADDING, PER_TOKEN, REWARD, SAMPLES, AuditReport, Limit

DESCENDS: Mapping[str, str | None] = {
    "reverse KL": "reverse KL(pi||ref)",
    "forward KL": "forward KL(ref||pi)",
    "token reverse KL": "token sum of reverse KL(pi||ref) on the samples' prefixes",
    "token forward KL": "token sum of forward KL(ref||pi) on the samples' prefixes",
    "no penalty": None,
}
"""Penalties beside the reward, with an audit's name for each."""
MASKS: Mapping[str, tuple[str, ...]] = {
    "any": ("ignored", "no mask"),
    "without holes": ("ignored", "no mask", "fills holes"),
}
SEARCHED = {
    "ratio": ("log_old", "log(pi/old)", math.exp(-FARTHEST), 1.0, math.exp(FARTHEST)),
    "log_ratio": ("log_ref", "log(pi/ref)", -FARTHEST, 0.0, FARTHEST),
    "advantage": ("advantages", "|A|", 0.0, 0.0, 50.0),
}
"""By the name of a claim: the loss's argument, the name of its limit, the least value that an audit
tries, the value that a claim lies around, and the largest that it tries.
"""
TOLERANCE = 5e-3
"""Relative tolerance of the end of a search."""
Interval = tuple[float, float]


class CheckError(AssertionError):
    """Raised when a loss is not what it is claimed to be; the message says what it is."""


def check(  # noqa: D417, the word of the argument is spared in docstrings
    loss: Loss,
    *,
    descends: str | None = None,
    ratio: Interval | None = None,
    log_ratio: Interval | None = None,
    advantage: float | None = None,
    mask: str | None = None,
    samples: str | None = None,
) -> AuditReport:
    """Test a loss against its intended objective, and the range in which that is exact.

    Args:
        loss: Loss as in `audit`.
        `descends`: Penalty beside the reward on sequences, one of `DESCENDS`.
        ratio: Ratios pi/old, (low, high), for which the objective is exact.
        log_ratio: Values of log(pi/ref), (low, high), for which it is exact, in nats.
        advantage: Largest |A| for which it is exact.
        mask: "any" if no masked token may change the loss, "without holes" if those behind an answer may not.
        samples: As in `audit`; an old policy's by default if a ratio is given.

    Raises:
        CheckError: If the loss has another objective, or couples answers.
        ValueError: If the claim cannot be checked.

    Example:
        >>> def k2(log_pi, log_ref):
        ...     return (log_pi - log_ref).square().mean() / 2
        >>> check(k2, descends="token reverse KL", log_ratio=(-20, 20)).sequence_gradient.exact
        True
    """
    values = {"ratio": ratio, "log_ratio": log_ratio, "advantage": advantage}
    claims = [_claim(arguments_of(loss), name, value) for name, value in values.items() if value is not None]
    if descends is not None:
        choice("descends", descends, DESCENDS)
    if mask is not None:
        choice("mask", mask, MASKS)
    samples = samples or ("policy" if ratio is None else "old_policy")
    choice("samples", samples, SAMPLES)
    if ratio is not None and samples != "old_policy":
        raise argument_error("samples", samples, "old_policy, where a ratio is given")
    report = audit(loss, samples=samples)
    faults = [report.verdict] if report.failed else _descent_faults(report, descends)
    for words, claim in [] if report.failed else claims:
        faults += _extent_faults(report, words, claim)
    if mask is not None and report.reduction is not None and report.reduction.padding not in MASKS[mask]:
        faults.append(f"mask={mask!r}: {PADDING[report.reduction.padding]}")
    if faults:
        raise CheckError("\n".join(faults))
    return report


def _claim(names: tuple[str, ...], name: str, given: Interval | float) -> tuple[str, Limit]:
    """The claim as words and as a Limit on the argument `name`; ValueError for a range never searched."""
    argument, what, least, middle, most = SEARCHED[name]
    if argument not in names:
        allowed = f"for a loss that takes {argument}; this one takes {', '.join(names)}"
        raise argument_error(name, given, allowed)
    low, high = given if isinstance(given, tuple) else (0.0, given)
    if not least <= low <= middle <= high <= most or high == least:
        allowed = f"(low, high) around {middle:g}, from {least:.3g} to {most:.3g}: what an audit searches"
        raise argument_error(name, given, allowed)
    ends = (math.log(low), math.log(high)) if name == "ratio" else (low, high)
    return f"{name}={given}", Limit(what, *ends, "")


def _extent_faults(report: AuditReport, words: str, claim: Limit) -> list[str]:
    """Sentences, at most one per side, if the exact match covers a shorter range than `claim` by a margin."""
    if not report.descended.exact:
        return [f"{words}: its gradient is of nothing known exactly, at any"]
    if report.batches is not None:
        return [f"{words}: it couples its batch, where no extent is searched"]

    def short(limit: Limit, side: float) -> bool:
        end, claimed = (side * (extent.high if side > 0 else extent.low) for extent in (limit, claim))
        return limit.level != "token" or claimed - end > TOLERANCE * max(1.0, abs(claimed))

    return [
        f"{words}: exact only while {limit.words} ({limit.example})"
        for limit in report.limits
        if limit.low == limit.high or (limit.what == claim.what and (short(limit, 1) or short(limit, -1)))
    ]


def _descent_faults(report: AuditReport, descends: str | None) -> list[str]:
    exact = report.descended.exact and report.scope == ANSWERS
    named = [(c, name.removesuffix(PER_TOKEN[1])) for c, name in report.descended.all_terms] if exact else []
    if raised := [name for c, name in named if c < 0 and name in (REWARD, *DESCENDS.values())]:
        return [f"it raises {' + '.join(raised)}: a sign error"]
    if descends is None:
        return []
    penalties = [name for _, name in named if name not in (REWARD, "zero")]
    penalty = DESCENDS[descends]
    if not exact or penalties != ([] if penalty is None else [penalty]):
        words = (" + ".join(penalties) or "no penalty") if exact else "nothing known"
        return [f"descends={descends!r}: on sequences its gradient is that of {words}"]
    if penalty and report.drops_penalty:
        return [f"descends={descends!r}: not where all advantages of a group are zero"]
    return []
