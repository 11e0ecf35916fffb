"""Which law of training a loss has, and what that selects as its coefficient falls (theory E)."""

from typing import NamedTuple

from .candidates import DIVERGENCES, TO_FILTERED, token_sum
from .report import Match, Minimiser

_FILTERED_TARGETS = (*TO_FILTERED, "forward KL(p_*||pi) + log A1")


class Law(NamedTuple):
    """What a loss penalises where training stands still, and the policy it selects as it weakens."""

    law: str
    selects: str


def law_of(samples: str, gradient: Match, minimiser: Minimiser | None) -> Law:
    """The law of E v less a vanishing multiple of a loss, by what its gradient on sequences is exactly.

    A divergence of whole answers selects the filtered model (E1), a token sum at the policy's prefixes the
    locally filtered model or, for forward KL, the token forward limit (E3). On correct samples the loss's
    minimiser decides. Anything else: "neither", and "none" is known.
    """
    if minimiser is not None:
        selects = {"p_*": "filtered model", "base rate": "base's own rate"}.get(minimiser.target, "none")
        return Law("rehearsal", selects)
    if gradient.name == "zero":
        return Law("no penalty", "none")
    if not gradient.exact or (gradient.constant or 0) < 0:
        return Law("neither", "none")
    if gradient.name in DIVERGENCES:
        return Law("whole answer", "filtered model")
    if gradient.name in _FILTERED_TARGETS:
        return Law("whole answer, to p_*", "filtered model")
    if samples in ("policy", "old_policy"):
        for name in DIVERGENCES:
            if gradient.name == token_sum(name):
                forward = name == "forward KL(ref||pi)"
                return Law("each token", "token forward limit" if forward else "locally filtered model")
    return Law("neither", "none")
