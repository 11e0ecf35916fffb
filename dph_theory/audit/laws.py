"""Which law of training a loss has, and what that selects as its coefficient falls (theory E)."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from .candidates import REWARD, TO_FILTERED, token_sum
from .combinations import PER_TOKEN
from .report import Match, Minimiser

_FILTERED_TARGETS = (*TO_FILTERED, "forward KL(p_*||pi) + log A1")

_LOCAL = "locally filtered model"
SMOOTH: Mapping[str, str] = MappingProxyType(
    {
        "forward KL(ref||pi)": "token forward limit",
        "reverse KL(pi||ref)": _LOCAL,
        "JS generator (twice the JS divergence)": _LOCAL,
        "alpha-divergence 0.2": _LOCAL,
        "alpha-divergence 0.5": _LOCAL,
        "chi-squared(pi||ref)": _LOCAL,
        "chi-squared(ref||pi)": "none",
    }
)
"""The divergences without a kink, and what the sum of each over tokens selects.

The validity that a law lacks because dead tokens keep some mass vanishes faster than beta, but for forward KL
as beta, and for chi-squared(ref||pi) more slowly: its limit is not known here.
"""


class Law(NamedTuple):
    """What a loss penalises where training stands still, and the policy it selects as it weakens."""

    law: str
    selects: str


_ALPHA = re.compile(r"alpha-divergence (0\.\d+)")


def _between(name: str) -> str:
    """The name with any alpha in (0, 1) as 0.5: dead tokens keep a mass of order beta^(1/alpha)."""
    return _ALPHA.sub("alpha-divergence 0.5", name)


def law_of(samples: str, gradient: Match, minimiser: Minimiser | None) -> Law:
    """The law of E v less a vanishing multiple of a loss, by what its gradient on sequences is exactly.

    A divergence of whole answers selects the filtered model (E1), a token sum at the policy's prefixes the
    locally filtered model or, for forward KL, the token forward limit (E3). On correct samples the loss's
    minimiser decides. The reward alone, or nothing, is "no penalty". Anything else: "neither", and "none" is
    known.
    """
    if minimiser is not None:
        selects = {"p_*": "filtered model", "base rate": "base's own rate"}.get(minimiser.target, "none")
        return Law("rehearsal", selects)
    penalty = gradient.name
    if gradient.terms:
        # Beside the reward, which a run has anyhow, one penalty has a law.
        bare = [(c, name.removesuffix(PER_TOKEN)) for c, name in gradient.terms]
        rest = [(c, name) for c, name in bare if name != REWARD]
        penalty = rest[0][1] if len(rest) == 1 and rest[0][0] > 0 else "none"
    if not gradient.exact or (gradient.constant or 0) < 0:
        return Law("neither", "none")
    if gradient.name in ("zero", REWARD):
        return Law("no penalty", "none")
    penalty = _between(penalty)
    if penalty in SMOOTH:
        return Law("whole answer", "filtered model")
    if penalty in _FILTERED_TARGETS:
        return Law("whole answer, to p_*", "filtered model")
    if samples in ("policy", "old_policy"):
        for name in SMOOTH:
            if penalty == token_sum(name):
                return Law("each token", SMOOTH[name])
    return Law("neither", "none")
