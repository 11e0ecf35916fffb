"""Losses that say what they descend; `pytest --dph` audits each, and holds it to that and to a lock."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from .support.errors import argument_error, choice

if TYPE_CHECKING:
    from .audit import AuditReport

KINDS: Mapping[str, str | None] = MappingProxyType(
    {
        "reverse KL": "reverse KL(pi||ref)",
        "forward KL": "forward KL(ref||pi)",
        "token reverse KL": "token sum of reverse KL(pi||ref) on the samples' prefixes",
        "token forward KL": "token sum of forward KL(ref||pi) on the samples' prefixes",
        "none": None,
    }
)
"""What a loss may descend beside the reward, and an audit's name for it."""
MASKS = ("any", "without holes")
_WHAT = {"ratio": "log(pi/old)", "|log u|": "log(pi/ref)", "|A|": "|A|"}
_BOUND = re.compile(r"\s*(ratio|\|log u\||\|A\|)\s*(<=|>=)\s*([0-9.eE+-]+)\s*")
_MARK = "__conforms__"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Claims:
    """What a loss says of itself: see `conforms`. A bound is (what, below or above, the number)."""

    kl: str | None
    bounds: tuple[tuple[str, str, float], ...]
    mask: str | None
    samples: str


def conforms(
    kl: str | None = None, *, exact_for: str = "", mask: str | None = None, samples: str = "policy"
) -> Callable[[F], F]:
    """Mark a loss with what it is to descend, for `pytest --dph`.

    Parameters: `kl`, one of KINDS, on sequences, beside the reward; `exact_for`, bounds joined by "and" on
    the ratio pi/old, on |log u| = |log(pi/ref)| and on |A|, such as "ratio <= 2 and |log u| <= 20"; `mask`,
    "any" for a loss that no masked token changes, "without holes" where those behind an answer do not;
    `samples` of the audit. Returns the loss as it is. Raises ValueError for what cannot be claimed. Source:
    ours.

    >>> @conforms(kl="token reverse KL", exact_for="|log u| <= 20")
    ... def k2(log_pi, log_ref):
    ...     return (log_pi - log_ref).square().mean() / 2
    """
    if kl is not None:
        choice("kl", kl, KINDS)
    if mask is not None:
        choice("mask", mask, MASKS)
    choice("samples", samples, ("policy", "old_policy", "reference", "filtered"))
    claims = Claims(
        kl, tuple(_bound(part) for part in exact_for.split(" and ") if part.strip()), mask, samples
    )

    def mark(loss: F) -> F:
        setattr(loss, _MARK, claims)
        return loss

    return mark


def claims_of(loss: object) -> Claims | None:
    """What `conforms` marked it with."""
    found = getattr(loss, _MARK, None)
    return found if isinstance(found, Claims) else None


def _bound(text: str) -> tuple[str, str, float]:
    found = _BOUND.fullmatch(text)
    if found is None:
        raise argument_error("exact_for", text, "a bound on ratio, |log u| or |A|, such as 'ratio <= 2'")
    return found[1], found[2], float(found[3])


def violations(claims: Claims, report: "AuditReport") -> list[str]:
    """What the audit finds otherwise, in words; nothing for a loss that conforms."""
    if report.failed:
        return [report.verdict]
    found = []
    match = report.sequence_gradient if report.sequence_gradient.exact else report.near_sequence_gradient
    penalties = [
        name.removesuffix(", per token")
        for _, name in match.terms or ((1.0, match.name),)
        if name.removesuffix(", per token") not in ("minus expected reward", "zero")
    ]
    if claims.kl is not None:
        wanted = [] if KINDS[claims.kl] is None else [KINDS[claims.kl]]
        if not match.exact or penalties != wanted:
            said = " + ".join(penalties) if match.exact and penalties else "nothing known"
            found.append(f"kl={claims.kl!r}: on sequences it descends {said}")
    for what, way, bound in claims.bounds:
        for limit in (*report.limits, *report.sequence_limits):
            if limit.what == _WHAT[what] and _outside(what, way, bound, limit.low, limit.high):
                found.append(f"{what} {way} {bound:g}: exact only while {limit.words} ({limit.example})")
    padding = "no mask" if report.reduction is None else report.reduction.padding
    allowed = {"any": ("ignored", "no mask"), "without holes": ("ignored", "no mask", "fills holes")}
    if claims.mask is not None and padding not in allowed[claims.mask]:
        found.append(f"mask={claims.mask!r}: it {padding.replace('fills holes', 'fills holes in its mask')}")
    return found


def _outside(what: str, way: str, bound: float, low: float, high: float) -> bool:
    """Whether a limit ends before the bound, by more than a search resolves."""
    near = 1 + 5e-3
    if what == "ratio":
        return math.exp(high) * near < bound if way == "<=" else math.exp(low) > bound * near
    if way == ">=":
        return low > bound * near
    return high * near < bound or (what == "|log u|" and -low * near < bound)
