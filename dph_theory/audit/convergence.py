"""Policies to which a loss converges: on filtered samples, and with a small beta."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.special import expit

from ..losses.kl_terms import BASE_RATE, FILTERED, FORWARD_LIMIT, LOCAL, NEVER_RELEASED
from .called_loss import Audited
from .problem import Problem
from .quantities import TO_FILTERED, token_sum
from .report import PER_TOKEN, REWARD, Finding, Match

CLOSE = 2e-3
"""Distance at which a pass rate counts as 1 or as a multiple of A1."""
_LOG_ODDS, _FLAT = np.linspace(-20.0, 20.0, 81), 1e-10


def find_minimiser(audited: Audited, problems: Sequence[Problem]) -> Finding:
    """Pass rate at which the expected loss on filtered samples is least, on problems of one token.

    The search goes over policies in the base's proportions; other policies lower the loss no further if its
    gradient vanishes at the minimum.

    Returns:
        `target`: "p_*" (pass rate 1), "base rate" (pass rate A1), "constant" (`ratio` times A1), "other", or
        "none" if the loss falls without bound or moves nothing.
    """
    rates = [_least_rate(audited, problem) for problem in problems]
    if None in rates:
        return Finding("none", {"target": "none", "ratio": None})
    base = [float((p.probabilities(p.reference) * p.valid).sum()) for p in problems]
    masses, ratios = np.array(rates, float), np.array(rates, float) / base
    middle = float(ratios.mean())
    kinds: tuple[tuple[Any, str, str, float | None], ...] = (
        (masses - 1, "p_*", "p_*, pass rate 1", None),
        (ratios - 1, "base rate", "pass rate A1", 1.0),
        (ratios / middle - 1, "constant", f"pass rate {middle:.3g} A1", middle),
        (np.zeros(1), "other", "another pass rate", None),
    )
    target, words, ratio = next(kind[1:] for kind in kinds if np.abs(kind[0]).max() < CLOSE)
    return Finding(words, {"target": target, "ratio": ratio})


def _least_rate(audited: Audited, problem: Problem) -> float | None:
    """Pass rate at the least loss; nan if other proportions of answers lower it, None without a minimum."""
    valid, ref = problem.valid > 0, problem.probabilities(problem.reference)
    within = (ref / torch.where(valid, ref[valid].sum(), ref[~valid].sum())).log()

    def slope(log_odds: float) -> tuple[float, float]:
        rate, rest = expit(log_odds), expit(-log_odds)
        logits = within + problem.valid * np.log(rate) + (1 - problem.valid) * np.log(rest)
        gradient = audited.measure(replace(problem, policy=logits[None])).gradient
        return float(gradient @ (problem.valid - rate)), float(gradient.norm())

    slopes = np.array([slope(x)[0] for x in _LOG_ODDS])
    rises = np.flatnonzero(slopes > _FLAT)
    if (np.abs(slopes) < _FLAT).all() or (rises.size and rises[0] == 0):
        return None
    if not rises.size:
        return 1.0
    least = float(brentq(lambda x: slope(x)[0], *_LOG_ODDS[rises[0] - 1 : rises[0] + 1]))
    return float(expit(least)) if slope(least)[1] < CLOSE else np.nan


_FILTERED_TARGETS = (*TO_FILTERED, "forward KL(p_*||pi) + log A1")

SMOOTH: Mapping[str, str] = {
    "forward KL(ref||pi)": FORWARD_LIMIT,
    "reverse KL(pi||ref)": LOCAL,
    "JS generator (twice the JS divergence)": LOCAL,
    "alpha-divergence 0.2": LOCAL,
    "alpha-divergence 0.5": LOCAL,
    "chi-squared(pi||ref)": LOCAL,
    "chi-squared(ref||pi)": "none",
}
"""Limit of the sum over tokens of each divergence without a kink.

The mass of dead tokens vanishes faster than beta, for forward KL as beta, and for chi-squared(ref||pi) more
slowly: its limit is not known here.
"""


def convergence_of(
    samples: str, gradient: Match, minimiser: Finding | None, released_below: float = -np.inf
) -> tuple[str, str]:
    """Penalised object, and limit of training at a small beta, from a loss's gradient on sequences.

    A divergence of whole answers converges to the filtered model, a token sum at the policy's prefixes to
    constrained decoding or, for forward KL, the small-beta limit of k3. A token whose log ratio is below
    `released_below` gets no gradient: incorrect ones then lose all their mass, and any token sum converges to
    constrained decoding. On correct samples the loss's minimiser decides.

    Returns:
        "whole answer", "each token", "rehearsal", "no penalty" or "not known"; and a key of `kl_terms.ENDS`,
        or "none".

    Source: entries `sequence_penalties`, `token_penalties`.
    """
    if minimiser is not None:
        ends = {"p_*": FILTERED, "base rate": BASE_RATE}
        return "rehearsal", ends.get(minimiser.target, "none")
    penalty = gradient.name
    if gradient.terms:
        # Beside the reward, which a run has anyhow, one penalty has a stationary policy that is known.
        bare = [(c, name.removesuffix(PER_TOKEN[1])) for c, name in gradient.terms]
        rest = [(c, name) for c, name in bare if name != REWARD]
        penalty = rest[0][1] if len(rest) == 1 and rest[0][0] > 0 else "none"
    if not gradient.exact or (gradient.constant or 0) < 0:
        return "not known", "none"
    if gradient.name in ("zero", REWARD):
        return "no penalty", "none"
    if penalty in SMOOTH:
        return "whole answer", FILTERED
    if penalty in _FILTERED_TARGETS:
        return "whole answer, to p_*", FILTERED
    if samples in ("policy", "old_policy"):
        for name, end in SMOOTH.items():
            if penalty == token_sum(name):
                return "each token", LOCAL if released_below > NEVER_RELEASED else end
    return "not known", "none"
