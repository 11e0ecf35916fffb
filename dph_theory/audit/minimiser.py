"""Where the expected loss on filtered samples is least: how much valid mass, and which law within Y1."""

import numpy as np
import torch
from torch import Tensor

from .exact import Loss, LossError, batch, expected_loss
from .problems import Problem
from .report import Minimiser

STEPS = 150
CLOSE = 2e-3
"""How near a mass must come to count as 1 or as a multiple of A1; a minimiser at infinity is approached."""


def find_minimiser(loss: Loss, names: tuple[str, ...], problems: tuple[Problem, ...]) -> Minimiser:
    """Minimise over all tabular policies on each problem, from the reference slightly disturbed."""
    masses, distances, moved = [], [], []
    for problem in problems:
        logits, bounded = _minimise(loss, names, problem)
        law, ref, valid = problem.law(logits), problem.law(problem.reference), problem.valid
        mass, base_rate = float((law * valid).sum()), float((ref * valid).sum())
        masses.append((mass, base_rate))
        inside, target = law * valid / max(mass, 1e-300), ref * valid / base_rate
        distances.append(float((inside - target).abs().sum() / 2))
        moved.append(bounded)
    kind, ratio = _classify(masses, all(moved))
    return Minimiser(kind, tuple(masses), ratio, max(distances))


def _minimise(loss: Loss, names: tuple[str, ...], problem: Problem) -> tuple[Tensor, bool]:
    """The logits reached by L-BFGS, and whether the loss has a least value that the search moved to."""
    law = problem.samples("filtered")
    noise = torch.sin(torch.arange(problem.policy.numel(), dtype=torch.float64)).reshape(problem.policy.shape)
    logits = (problem.reference + 0.3 * noise).requires_grad_()
    start = logits.detach().clone()
    optimiser = torch.optim.LBFGS(
        [logits], max_iter=STEPS, tolerance_grad=1e-7, tolerance_change=0.0, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = expected_loss(loss, batch(problem, logits, "filtered", names), problem, law)
        value.backward()
        return value

    optimiser.step(closure)
    final = float(closure().detach())
    if not np.isfinite(final) or logits.isnan().any():
        raise LossError(f"minimising it on filtered samples ended at {final}")
    return logits.detach(), final > -1e3 and bool((logits - start).abs().max() > 1e-9)


def _classify(masses: list[tuple[float, float]], bounded: bool) -> tuple[str, float | None]:
    if not bounded:
        return "none", None
    if all(abs(mass - 1) < CLOSE for mass, _ in masses):
        return "p_*", None
    ratios = np.array([mass / base_rate for mass, base_rate in masses])
    if np.abs(ratios - 1).max() < CLOSE:
        return "base rate", 1.0
    if np.abs(ratios / ratios.mean() - 1).max() < CLOSE:
        return "constant", float(ratios.mean())
    return "other", None
