"""Policies to which a loss converges: on filtered samples, at a given beta, and with a small one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..losses.kl_terms import BASE_RATE, FILTERED, FORWARD_LIMIT, LOCAL, NEVER_RELEASED
from .called_loss import Audited, LossError
from .problem import Problem
from .quantities import TO_FILTERED, token_sum
from .report import PER_TOKEN, REWARD, Finding, Match

STEPS = 150
CLOSE = 2e-3
"""How near a mass must come to count as 1 or as a multiple of A1; a minimiser at infinity is approached."""


def find_minimiser(audited: Audited, problems: Sequence[Problem]) -> Finding:
    """Where the expected loss on filtered samples is least, over all tabular policies on each problem.

    Returns:
        `target`: "p_*" (pass rate 1), "base rate" (pass rate A1), "constant" (`ratio` times A1), "other", or
        "none" if the loss falls without bound or moves nothing; `within_valid`, the largest total variation
        distance of pi(. | Y1) from p_*.
    """
    masses, ratios, distances, least = [], [], [], []
    for problem in problems:
        logits, has_least = _minimise(audited, problem)
        policy, ref = (problem.probabilities(x) * problem.valid for x in (logits, problem.reference))
        mass, base_rate = float(policy.sum()), float(ref.sum())
        masses.append(mass)
        ratios.append(mass / base_rate)
        distances.append(float((policy / max(mass, 1e-300) - ref / base_rate).abs().sum() / 2))
        least.append(has_least)
    target, words, ratio = "none", "none", None
    if all(least):
        middle = float(np.mean(ratios))
        kinds: tuple[tuple[Any, str, str, float | None], ...] = (
            (np.subtract(masses, 1), "p_*", "p_*, valid mass 1", None),
            (np.subtract(ratios, 1), "base rate", "valid mass A1", 1.0),
            (np.divide(ratios, middle) - 1, "constant", f"valid mass {middle:.3g} A1", middle),
            (np.zeros(1), "other", "another valid mass", None),
        )
        target, words, ratio = next(kind[1:] for kind in kinds if np.abs(kind[0]).max() < CLOSE)
    return Finding(words, {"target": target, "ratio": ratio, "within_valid": max(distances)})


def _minimise(audited: Audited, problem: Problem) -> tuple[Tensor, bool]:
    """The logits reached by L-BFGS, and whether the loss has a least value that the search moved to."""
    distribution = problem.sample_distribution("filtered")
    noise = torch.sin(torch.arange(problem.policy.numel(), dtype=torch.float64)).reshape(problem.policy.shape)
    logits = (problem.reference + 0.3 * noise).requires_grad_()
    start = logits.detach().clone()
    optimiser = torch.optim.LBFGS(
        [logits], max_iter=STEPS, tolerance_grad=1e-7, tolerance_change=0.0, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        inputs = audited.batch(problem, logits)
        answers = torch.nonzero(distribution)[:, 0].tolist()
        values = [distribution[i] * audited.value(audited.rows(inputs, [i], problem)) for i in answers]
        total = torch.stack(values).sum()
        total.backward()
        return total

    optimiser.step(closure)
    final = float(closure().detach())
    if not np.isfinite(final) or logits.isnan().any():
        raise LossError(f"minimising it on filtered samples ended at {final}")
    return logits.detach(), final > -1e3 and bool((logits - start).abs().max() > 1e-9)


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
"""The divergences without a kink, and what the sum of each over tokens selects.

The pass rate that is lacking because dead tokens keep some mass vanishes faster than beta, but for forward KL
as beta, and for chi-squared(ref||pi) more slowly: its limit is not known here.
"""


def convergence_of(
    samples: str, gradient: Match, minimiser: Finding | None, released_below: float = -np.inf
) -> tuple[str, str]:
    """What a loss penalises, and where training with it and a small beta ends, by its gradient on sequences.

    A divergence of whole answers converges to the filtered model, a token sum at the policy's prefixes
    to the locally filtered model or, for forward KL, the token forward limit. A token whose log ratio is
    below `released_below` gets no gradient: incorrect ones then lose all their mass, and any token sum
    converges to the locally filtered model. On correct samples the loss's minimiser decides.

    Returns:
        What the loss acts on: "whole answer", "each token", "rehearsal", "no penalty" for the reward alone
        or nothing, or "not known"; and a key of `kl_terms.ENDS`, or "none".

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
