"""The verdict of an audit in one line."""

from .report import SEVERAL, AuditReport, Batches, Match, Minimiser


def verdict_line(report: AuditReport) -> str:
    """Such as: k3 on policy samples: value estimates reverse KL(pi||ref); its gradient descends ..."""
    start = f"{report.loss} on {report.samples.replace('_', ' ')} samples"
    if report.gradient.name == "failed":
        return f"{start}: could not be audited: {report.failures[0].what} (on {report.failures[0].problem})"
    parts = [_value_words(report.value), _gradient_words(report)]
    if _ignores_mask(report):
        parts.insert(
            0, "it IGNORES ITS MASK: what stands at masked tokens changes it, so that the rest need not hold"
        )
    if differ(report.sequence_gradient, report.gradient):
        parts.append(f"on sequences it {_descent(report.sequence_gradient, report.batches)}")
    parts += _reduction_words(report)
    if report.minimiser is not None:
        parts.append(_minimiser_words(report.minimiser))
    if report.selects != "none":
        parts.append(f"as its coefficient falls it selects the {selects_words(report)}")
    parts += _warnings(report)
    return f"{start}: " + "; ".join(parts)


def selects_words(report: AuditReport) -> str:
    """What the loss selects, and for which lengths that is known."""
    unequal = report.unequal_gradient
    exact = report.sequence_gradient.exact and report.selects != "none"
    if not exact or unequal.exact or unequal.name == "failed":
        return report.selects
    return f"{report.selects} where all lengths are equal"


def _ignores_mask(report: AuditReport) -> bool:
    return report.reduction is not None and report.reduction.padding == "ignores its mask"


def _times(match: Match) -> str:
    """The constant in words, if it is not one."""
    return "" if match.constant is None or abs(match.constant - 1) < 1e-6 else f"{match.constant:.6g} times "


def _value_words(match: Match) -> str:
    if match.name == "zero":
        return "value is zero"
    if match.exact:
        return f"value estimates {_times(match)}{match.name}"
    if match.bias is None:
        return "value estimates none of the known divergences"
    low, high = match.bias
    return f"value is biased, nearest {match.name} (off by {low:+.0%} to {high:+.0%})"


def differ(one: Match, other: Match) -> bool:
    """Whether another quantity is found, or one not exactly and the other exactly."""
    return (one.name, one.exact) != (other.name, other.exact)


def _gradient_words(report: AuditReport) -> str:
    if report.gradient.name == "zero":
        return "its gradient is ZERO in expectation: it descends nothing"
    return f"its gradient {_descent(report.gradient, report.batches)}"


def _descent(match: Match, batches: Batches | None = None) -> str:
    if match.name == "zero":
        return "descends nothing (zero in expectation)"
    if not match.exact:
        angle = "" if match.angle is None else f", nearest {match.name} at {angle_words(match.angle)}"
        return f"descends none of the known quantities{angle}"
    ascends = match.constant is not None and match.constant < 0
    shout = match.name.replace("forward KL", "FORWARD KL").replace("reverse KL", "REVERSE KL")
    size = abs(match.constant or 1.0)
    scale = "exactly" if abs(size - 1) < 1e-6 else f"exactly, scaled by {size:.6g}"
    if batches is not None and batches.constant is not None and "B" in batches.constant:
        scale = f"exactly, scaled by {batches.constant.removeprefix('-')} in a batch of B"
    mean = ", per token" if match.per_token else ""
    return f"{'ASCENDS' if ascends else 'descends'} {shout}, {scale}{mean}"


def _reduction_words(report: AuditReport) -> list[str]:
    """How the batch matters, and the lengths, where they do."""
    words = []
    if report.batches is not None and report.batches.constant is None:
        sizes = "; ".join(f"at B = {size} it {_descent(m)}" for size, m in report.batches.gradients)
        known = all(match.exact for _, match in report.batches.gradients)
        how = "" if known else ", in no way recognised"
        words.append(f"it couples the sequences of a batch{how}: {sizes}")
    elif report.batches is not None:
        words.append("it couples the sequences of a batch")
    reduction = report.reduction
    if reduction is None or report.unequal_gradient.name == "failed":
        return words
    if reduction.padding in ("divides by the padded length", "other"):
        words.append("it depends on how far the batch is padded")
    told = reduction.padding == "divides by the padded length" or report.sequence_gradient.exact
    told = told and not _ignores_mask(report) and report.batches is None
    if told and differ(report.unequal_gradient, report.sequence_gradient):
        words.append(f"where lengths differ ({reduction.words}) it {_descent(report.unequal_gradient)}")
    return words


def angle_words(angle: float) -> str:
    """An angle in whole degrees; below one it still is no match."""
    return f"{angle:.0f} degrees" if angle >= 1 else "under 1 degree"


def _minimiser_words(found: Minimiser) -> str:
    words = {
        "p_*": "its minimiser is the filtered model p_* (valid mass 1)",
        "base rate": "its minimiser keeps the base's own pass rate (valid mass A1)",
        "constant": f"its minimiser has valid mass {found.ratio:.4g} A1" if found.ratio is not None else "",
        "other": "its minimiser has a valid mass that is neither 1 nor a multiple of A1",
        "none": "it has no minimiser (it falls without bound, or moves nothing)",
    }[found.target]
    if found.target != "none" and found.within_valid > 1e-3:
        words += f", and is not p_* within Y1 (off by {found.within_valid:.2g} in total variation)"
    return words


def _warnings(report: AuditReport) -> list[str]:
    words = []
    if report.precision == "16 bits":
        words.append("it computes in 16 bits, too coarse to recognise anything: audit it in 32 or 64")
    elif report.precision != "float64":
        words.append(f"it computes in {report.precision}: exact to its rounding")
    if report.dead_zones:
        zones = ", ".join(f"[{low:g}, {high:g}]" for low, high in report.dead_zones[:3])
        words.append(f"no gradient at log ratios in {zones}")
    for extremes in report.extremes:
        if extremes.nan:
            words.append(f"nan in {extremes.dtype} from |x| = {min(map(abs, extremes.nan)):g}")
        if extremes.inf:
            words.append(f"overflows early in {extremes.dtype} from |x| = {min(map(abs, extremes.inf)):g}")
    failures = {f.problem: f.what for f in report.failures}
    if why := failures.pop(SEVERAL, None):
        words.append(f"it FAILS on {SEVERAL} ({why}): all this is about batches of one")
    if failures:
        words.append(f"failed on {len(failures)} of the problems ({next(iter(failures.values()))})")
    return words
