"""The quantities a loss may estimate or descend, with exact values and gradients from the theory.

A sequence-level divergence has the gradient J^T pull, with J = d log pi(y)/d theta and pull the gradient of
D_f in the sequence's own logits. A token-level one sums the divergences of the next-token laws over the
prefixes that the samples visit, the visits held fixed as a loss on fixed samples holds them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from ..fdivergence import FDivergence
from .problems import Problem

DIVERGENCES: Mapping[str, FDivergence] = {
    "forward KL(ref||pi)": FORWARD_KL,
    "reverse KL(pi||ref)": REVERSE_KL,
    "JS generator (twice the JS divergence)": JENSEN_SHANNON,
    "alpha-divergence 0.2": alpha_divergence(0.2),
    "alpha-divergence 0.5": alpha_divergence(0.5),
}
TO_FILTERED = {
    "forward KL(p_*||pi)": FORWARD_KL,
    "JS generator to p_*": JENSEN_SHANNON,
    "alpha-divergence 0.5 to p_*": alpha_divergence(0.5),
}
"""Those that stay finite: p_* has no mass on invalid outcomes, so no reverse KL can aim at it."""
ESTIMANDS = (*DIVERGENCES, *TO_FILTERED)
"""What a value may be a biased estimate of; entropy and reward are no divergences."""


@dataclass(frozen=True)
class Quantity:
    """The value of a named quantity on a problem, and its gradient in the logits (flattened)."""

    value: float
    gradient: Tensor


def quantities(problem: Problem, source: str) -> dict[str, Quantity]:
    """Every candidate on this problem; token-level ones only where there are several tokens."""
    pi, ref = problem.distribution(problem.policy), problem.distribution(problem.reference)
    valid = problem.valid.numpy()
    target = ref * valid / (ref * valid).sum()
    jacobian = _jacobian(problem)
    found = {}
    for name, divergence in DIVERGENCES.items():
        found[name] = _sequence(divergence, pi, ref, jacobian)
    for name, divergence in TO_FILTERED.items():
        found[name] = _sequence(divergence, pi, target, jacobian)
    if source == "filtered":
        # What -log u averages to on correct samples: no base rate is known there, and none moves.
        to_filtered, base_rate = found["forward KL(p_*||pi)"], float((ref * valid).sum())
        value = to_filtered.value + float(np.log(base_rate))
        found["forward KL(p_*||pi) + log A1"] = Quantity(value, to_filtered.gradient)
    found["entropy(pi)"] = Quantity(float(-(pi * np.log(pi)).sum()), _chain(-pi * np.log(pi), jacobian))
    found["minus expected reward"] = Quantity(-float((pi * valid).sum()), _chain(-pi * valid, jacobian))
    if problem.length > 1:
        visits = problem.prefix_law(problem.samples(source))
        for name, divergence in DIVERGENCES.items():
            found[token_sum(name)] = _tokens(divergence, problem, visits)
    return found


def token_sum(name: str) -> str:
    """The name of the token-level sum of that divergence."""
    return f"token sum of {name} on the samples' prefixes"


def _jacobian(problem: Problem) -> np.ndarray:
    """The derivatives d log pi(y)/d theta, (sequences, parameters)."""

    def sequence_log_probs(logits: Tensor) -> Tensor:
        return problem.log_probs(logits).sum(dim=-1)

    derivatives = torch.autograd.functional.jacobian(sequence_log_probs, problem.policy)
    return derivatives.flatten(1).numpy()


def _chain(pull: np.ndarray, jacobian: np.ndarray) -> Tensor:
    return torch.as_tensor(pull @ jacobian)


def _sequence(divergence: FDivergence, pi: np.ndarray, ref: np.ndarray, jacobian: np.ndarray) -> Quantity:
    return Quantity(float(divergence(pi, ref)), _chain(divergence.gradient(pi, ref), jacobian))


def _tokens(divergence: FDivergence, problem: Problem, visits: Tensor) -> Quantity:
    pi, ref = (torch.softmax(logits, -1).numpy() for logits in (problem.policy, problem.reference))
    weights = visits.numpy()
    value = float((weights * divergence(pi, ref)).sum())
    return Quantity(value, torch.as_tensor(weights[:, None] * divergence.gradient(pi, ref)).flatten())
