"""The quantities a loss may estimate or descend, with exact values and gradients from the theory.

A sequence-level divergence has the gradient J^T pull, with J = d log pi(y)/d theta and pull the gradient of
D_f in the sequence's own logits. A token-level one sums the divergences of the next-token laws over the
prefixes that the samples visit, the visits held fixed as a loss on fixed samples holds them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from ..divergences import (
    CHI_SQUARED,
    FORWARD_KL,
    JENSEN_SHANNON,
    NEYMAN_CHI_SQUARED,
    REVERSE_KL,
    TOTAL_VARIATION,
    alpha_divergence,
)
from ..fdivergence import FDivergence
from .problems import Problem

DIVERGENCES: Mapping[str, FDivergence] = {
    "forward KL(ref||pi)": FORWARD_KL,
    "reverse KL(pi||ref)": REVERSE_KL,
    "JS generator (twice the JS divergence)": JENSEN_SHANNON,
    "alpha-divergence 0.2": alpha_divergence(0.2),
    "alpha-divergence 0.5": alpha_divergence(0.5),
    "chi-squared(pi||ref)": CHI_SQUARED,
    "chi-squared(ref||pi)": NEYMAN_CHI_SQUARED,
    "total variation": TOTAL_VARIATION,
}
"""Every declared divergence, in both directions; Hellinger's is half of alpha-divergence 0.5."""
TO_FILTERED = {
    "forward KL(p_*||pi)": FORWARD_KL,
    "JS generator to p_*": JENSEN_SHANNON,
    "alpha-divergence 0.5 to p_*": alpha_divergence(0.5),
}
"""Those that stay finite: p_* has no mass on invalid outcomes, so the reverse KL to it is infinite."""
TO_OLD = {"forward KL(old||pi)": FORWARD_KL, "reverse KL(pi||old)": REVERSE_KL}
"""On samples of an old policy."""
ESTIMANDS = (*DIVERGENCES, *TO_FILTERED, *TO_OLD)
"""What a value may be a biased estimate of; entropy and reward are no divergences."""
REWARD, ENTROPY = "minus expected reward", "entropy(pi)"

Pull = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(pi, ref) -> the gradient of a quantity in the logits of pi, over the last axis."""


@dataclass(frozen=True)
class Quantity:
    """The value of a named quantity on a problem, and its gradient in the logits (flattened)."""

    value: float
    gradient: Tensor


@cache
def quantities(problem: Problem, source: str) -> dict[str, Quantity]:
    """Every candidate on this problem; token-level ones only where there are several tokens."""
    pi, ref = problem.distribution(problem.policy), problem.distribution(problem.reference)
    valid, old = problem.valid.numpy(), problem.distribution(problem.old)
    target = ref * valid / (ref * valid).sum()
    aims = [(DIVERGENCES, ref), (TO_FILTERED, target)] + [(TO_OLD, old)] * (source == "old_policy")
    surprise = -pi * np.log(pi)
    found = {
        REWARD: Quantity(-float((pi * valid).sum()), _chained(-pi * valid, problem)),
        ENTROPY: Quantity(float(surprise.sum()), _chained(surprise, problem)),
    }
    for group, aim in aims:
        for name, divergence in group.items():
            value, pull = float(divergence(pi, aim)), divergence.gradient(pi, aim)
            found[name] = Quantity(value, _chained(pull, problem))
    if source == "filtered":
        # What -log u averages to on correct samples: no base rate is known there, and none moves.
        to_filtered, base_rate = found["forward KL(p_*||pi)"], float((ref * valid).sum())
        value = to_filtered.value + float(np.log(base_rate))
        found["forward KL(p_*||pi) + log A1"] = Quantity(value, to_filtered.gradient)
    if problem.length > 1:
        found |= _token_sums(problem, source)
    return found


def token_sum(name: str) -> str:
    """The name of the token-level sum of that divergence."""
    return f"token sum of {name} on the samples' prefixes"


def alpha_name(alpha: float) -> str:
    """The name of the alpha-divergence with that alpha, as in DIVERGENCES."""
    return f"alpha-divergence {alpha:.6g}"


def alpha_gradients(problem: Problem, source: str, alpha: float) -> dict[str, Tensor]:
    """The gradients of the alpha-divergence, any real alpha: of the sequence, and its token sum."""

    def pull(pi: np.ndarray, ref: np.ndarray) -> np.ndarray:
        x = np.log(pi) - np.log(ref)
        # f'(u) = (1 - u^-alpha)/alpha; its mean under pi has no gradient.
        slope = x if alpha == 0 else -np.expm1(-alpha * x) / alpha
        return pi * (slope - (pi * slope).sum(axis=-1, keepdims=True))

    pi, ref = problem.distribution(problem.policy), problem.distribution(problem.reference)
    found = {alpha_name(alpha): _chained(pull(pi, ref), problem)}
    if problem.length > 1:
        found[token_sum(alpha_name(alpha))] = _over_prefixes(pull, problem, source)
    return found


@cache
def _through(problem: Problem) -> np.ndarray:
    """The derivatives d log pi(y)/d theta, (sequences, parameters)."""

    def sequence_log_probs(logits: Tensor) -> Tensor:
        return problem.log_probs(logits).sum(dim=-1)

    derivatives: Tensor = torch.autograd.functional.jacobian(sequence_log_probs, problem.policy)
    return np.asarray(derivatives.flatten(1))


def _chained(pull: np.ndarray, problem: Problem) -> Tensor:
    return torch.as_tensor(pull @ _through(problem))


def _token_sums(problem: Problem, source: str) -> dict[str, Quantity]:
    weights = problem.prefix_law(problem.samples(source)).numpy()
    pi, ref = _tables(problem)
    found = {
        token_sum(name): Quantity(
            float((weights * divergence(pi, ref)).sum()),
            _over_prefixes(divergence.gradient, problem, source),
        )
        for name, divergence in DIVERGENCES.items()
    }

    def spread(pi: np.ndarray, _: np.ndarray) -> np.ndarray:
        surprise = -pi * np.log(pi)
        return surprise - pi * surprise.sum(axis=-1, keepdims=True)

    value = float((weights * -(pi * np.log(pi)).sum(axis=-1)).sum())
    found[token_sum(ENTROPY)] = Quantity(value, _over_prefixes(spread, problem, source))
    return found


def _over_prefixes(pull: Pull, problem: Problem, source: str) -> Tensor:
    weights = problem.prefix_law(problem.samples(source)).numpy()
    return torch.as_tensor(weights[:, None] * pull(*_tables(problem))).flatten()


def _tables(problem: Problem) -> tuple[np.ndarray, ...]:
    """The next-token laws of the policy and of the reference, (prefixes, vocabulary)."""
    return tuple(torch.softmax(logits, -1).numpy() for logits in (problem.policy, problem.reference))
