"""A match, and what else a report holds, in words short enough for a table."""

from .report import AuditReport, Match
from .verdict import angle_words, differ

_TARGETS = {
    "p_*": "p_*, valid mass 1",
    "base rate": "valid mass A1",
    "other": "another valid mass",
    "none": "none",
}


def match_words(match: Match) -> str:
    """Such as: reverse KL(pi||ref), per token."""
    if match.name in ("zero", "failed"):
        return {"zero": "zero", "failed": "-"}[match.name]
    if match.exact:
        one = match.constant is None or abs(match.constant - 1) < 1e-6
        return f"{'' if one else f'{match.constant:.4g} times '}{match.name}{', per token' * match.per_token}"
    if match.bias is not None:
        return f"biased; nearest {match.name} ({match.bias[0]:+.0%} to {match.bias[1]:+.0%})"
    if match.angle is not None:
        return f"none; nearest {match.name} ({angle_words(match.angle)})"
    return "none"


def both_words(single: Match, sequence: Match) -> str:
    """The match on single outcomes, and on sequences where that is another one and either is exact."""
    words = match_words(single)
    if differ(single, sequence) and (single.exact or sequence.exact):
        words += f"; on sequences: {match_words(sequence)}"
    return words


def minimiser_words(report: AuditReport) -> str:
    """What the loss's minimiser on filtered samples is; "-" for other samples."""
    found = report.minimiser
    if found is None:
        return "-"
    if found.target == "constant":
        return f"valid mass {found.ratio:.3g} A1"
    return _TARGETS[found.target]


def batch_words(report: AuditReport) -> str:
    """How the constant depends on the batch size; "-" for a loss that does not couple its batch."""
    if report.batches is None:
        return "-"
    if report.batches.constant is not None:
        return f"scaled by {report.batches.constant}"
    return "; ".join(f"B = {size}: {match_words(match)}" for size, match in report.batches.gradients)


def variance_words(report: AuditReport) -> str:
    """The relative variance to two digits; "-" where the gradient vanishes."""
    return "-" if report.variance is None else f"{report.variance:.2g}"


def dead_zone_words(report: AuditReport) -> str:
    """The intervals, or "none"."""
    zones = [f"[{low:g}, {high:g}]" for low, high in report.dead_zones]
    zones += [f"[{low:g}, {high:g}] by rounding" for low, high in report.rounded_zones]
    return ", ".join(zones) or "none"
