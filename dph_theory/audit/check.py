"""A loss held to what it is to descend, in a plain test, and to the verdict that was stored of it."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ..support.errors import argument_error, choice
from .domain import FARTHEST
from .exact import Loss, arguments_of
from .loss import audit
from .report import ANSWERS, PER_TOKEN, REWARD, SAMPLES, AuditReport, Limit

DESCENDS: Mapping[str, str | None] = MappingProxyType(
    {
        "reverse KL": "reverse KL(pi||ref)",
        "forward KL": "forward KL(ref||pi)",
        "token reverse KL": "token sum of reverse KL(pi||ref) on the samples' prefixes",
        "token forward KL": "token sum of forward KL(ref||pi) on the samples' prefixes",
        "no penalty": None,
    }
)
"""What a loss may descend beside the reward, and an audit's name for it."""
_FALL = (REWARD, *(name for name in DESCENDS.values() if name is not None))
MASKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"any": ("ignored", "no mask"), "without holes": ("ignored", "no mask", "fills holes")}
)
LARGEST = 50.0
"""An advantage up to which an audit searches."""
NEAR = 5e-3
"""A search finds an end within so much of it, relatively."""
KEPT = ("verdict", "law", "selects")
_NUMBER = re.compile(r"(off by |% )?(-?\d[\d.]*(?:e[-+]?\d+)?)( degrees?|%)?")
Between = tuple[float, float]


class CheckError(AssertionError):
    """A loss that is not what it is held to, and what it is."""


def check(
    loss: Loss,
    *,
    descends: str | None = None,
    ratio: Between | None = None,
    log_ratio: Between | None = None,
    advantage: float | None = None,
    mask: str | None = None,
    stored: Path | str | None = None,
    samples: str | None = None,
) -> AuditReport:
    """Hold a loss to what it is to descend, how far, and to a stored verdict.

    Parameters: `descends`, one of DESCENDS, on sequences, beside the reward; `ratio` (low, high), the ratios
    pi/old, `log_ratio`, those of log(pi/ref), and `advantage`, the largest |A|, for which it is to be exact,
    on sequences, or on single tokens if it is exact there alone;
    `mask`, "any" if no masked token may change the loss, "without holes" if those behind an answer may not;
    `stored`, a file that `dph audit loss --json` wrote; `samples` as for `audit`, by default an old policy's
    where a ratio is given. Returns the audit. Raises CheckError for a loss that is another, or whose batch
    couples answers, so that it was not searched how far it holds; ValueError for what cannot be checked.
    Source: ours.

    >>> def k2(log_pi, log_ref):
    ...     return (log_pi - log_ref).square().mean() / 2
    >>> check(k2, descends="token reverse KL", log_ratio=(-20, 20)).sequence_gradient.exact
    True
    """
    bounds = _bounds(arguments_of(loss), ratio, log_ratio, advantage)
    if descends is not None:
        choice("descends", descends, DESCENDS)
    if mask is not None:
        choice("mask", mask, MASKS)
    samples = samples or ("policy" if ratio is None else "old_policy")
    choice("samples", samples, SAMPLES)
    if ratio is not None and samples != "old_policy":
        raise argument_error("samples", samples, "old_policy, where a ratio is given")
    report = audit(loss, samples=samples)
    wrong = [report.verdict] if report.failed else _otherwise(report, descends, bounds, mask)
    if not wrong and stored is not None:
        wrong = _changed(report, Path(stored))
    if wrong:
        raise CheckError("\n".join(wrong))
    return report


def _bounds(
    names: tuple[str, ...], ratio: Between | None, log_ratio: Between | None, advantage: float | None
) -> tuple[tuple[str, str, Limit], ...]:
    """What is claimed as a Limit each, beside its name and value; ValueError for what was never searched."""
    logs = None
    if ratio is not None:
        _ordered("ratio", ratio, math.exp(-FARTHEST), 1.0, math.exp(FARTHEST))
        logs = (math.log(ratio[0]), math.log(ratio[1]))
    if log_ratio is not None:
        _ordered("log_ratio", log_ratio, -FARTHEST, 0.0, FARTHEST)
    if advantage is not None and not 0 < advantage <= LARGEST:
        raise argument_error("advantage", advantage, f"above 0, at most {LARGEST:g}: what an audit searches")
    asked = (
        ("ratio", ratio, "log_old", "log(pi/old)", logs),
        ("log_ratio", log_ratio, "log_ref", "log(pi/ref)", log_ratio),
        ("advantage", advantage, "advantages", "|A|", None if advantage is None else (0.0, advantage)),
    )
    for name, value, argument, *_ in asked:
        if value is not None and argument not in names:
            raise argument_error(
                name, value, f"for a loss that takes {argument}; this one takes {', '.join(names)}"
            )
    return tuple(
        (name, str(value), Limit(what, *ends, "")) for name, value, _, what, ends in asked if ends is not None
    )


def _ordered(name: str, given: Between, least: float, middle: float, most: float) -> None:
    low, high = given
    if not least <= low <= middle <= high <= most:
        allowed = f"(low, high) around {middle:g}, from {least:.3g} to {most:.3g}: what an audit searches"
        raise argument_error(name, given, allowed)


def _otherwise(
    report: AuditReport, descends: str | None, bounds: tuple[tuple[str, str, Limit], ...], mask: str | None
) -> list[str]:
    """What the audit finds otherwise, in words."""
    wrong = _descends(report, descends)
    if bounds and not report.known.exact:
        wrong.append(f"{bounds[0][0]}={bounds[0][1]}: it descends nothing known exactly, at any")
    elif bounds and report.batches is not None:
        wrong.append(f"{bounds[0][0]}={bounds[0][1]}: it couples its batch, where no extent is searched")
    for name, value, claimed in bounds:
        for limit in report.limits:
            nowhere = limit.low == limit.high
            if nowhere or (limit.what == claimed.what and _ends_before(limit, claimed)):
                wrong.append(f"{name}={value}: exact only while {limit.words} ({limit.example})")
    if mask is not None and report.reduction is not None and report.reduction.padding not in MASKS[mask]:
        wrong.append(f"mask={mask!r}: {report.reduction.padding_words}")
    return wrong


def _descends(report: AuditReport, descends: str | None) -> list[str]:
    exact = report.known.exact and report.scope == ANSWERS
    named = [(c, name.removesuffix(PER_TOKEN[1])) for c, name in report.known.each] if exact else []
    if raised := [name for c, name in named if c < 0 and name in _FALL]:
        return [f"it raises {' + '.join(raised)}: a sign error"]
    if descends is None:
        return []
    penalties = [name for _, name in named if name not in (REWARD, "zero")]
    wanted = [name for name in [DESCENDS[descends]] if name is not None]
    if not exact or penalties != wanted:
        said = (" + ".join(penalties) or "no penalty") if exact else "nothing known"
        return [f"descends={descends!r}: on sequences it descends {said}"]
    if wanted and report.drops_penalty:
        return [f"descends={descends!r}: not where all advantages of a group are zero"]
    return []


def _ends_before(limit: Limit, claimed: Limit) -> bool:
    """Whether it ends before what is claimed, by more than a search resolves."""

    def short(end: float, wanted: float) -> bool:
        return wanted - end > NEAR * max(1.0, abs(wanted))

    return short(limit.high, claimed.high) or short(-limit.low, -claimed.low)


def _changed(report: AuditReport, path: Path) -> list[str]:
    """How the verdict differs from the stored one, but for what was searched or rounded."""
    if not path.is_file():
        return [
            f"stored={str(path)!r}: there is no such file; dph audit loss FILE.py:function --json writes it"
        ]
    held = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(other := held.get("off_policy"), dict) and other.get("samples") == report.samples:
        held = other
    now = report.to_dict()
    if missing := [name for name in KEPT if not isinstance(held.get(name), str)]:
        return [f"stored={str(path)!r}: it has no {', '.join(missing)}"]
    if all(same_words(held[name], str(now[name])) for name in KEPT):
        return []
    was, found = (f"{each['verdict']} ({each['law']}, {each['selects']})" for each in (held, now))
    return [f"it was: {was}\nit is:  {found}"]


def same_words(one: str, other: str) -> bool:
    """Whether two verdicts say the same: what was searched or rounded may differ in its last digit."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False

    def near(before: str, first: str, second: str, after: str) -> bool:
        share = 0.2 if before or after == "%" else 0.01
        return math.isclose(float(first), float(second), rel_tol=share, abs_tol=1.0 if after else 0.0)

    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(near(before, first, second, after) for (before, first, after), (_, second, _) in pairs)
