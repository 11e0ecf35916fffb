"""What becomes of a group without variance: verdicts that agree, so that all of its advantages are zero."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .exact import (
    Given,
    Loss,
    LossError,
    MeasuredLoss,
    Problem,
    batch,
    measure,
    rows,
    scalar_of,
    value_and_slope,
)
from .report import AddingUp, EqualGroups, Match

Matched = Callable[[list[tuple[Problem, MeasuredLoss]]], Match]
"""What the gradients of these problems are."""


def equal_groups_of(
    loss: Loss,
    names: Sequence[str],
    problems: Sequence[Problem],
    source: str,
    matched: Matched,
    reduction: AddingUp | None,
) -> EqualGroups | None:
    """What a loss of advantages descends where all are zero, and what such answers weigh beside others."""
    if "advantages" not in names:
        return None

    def without(**given: Any) -> Any:
        found = scalar_of(loss(**{**given, "advantages": 0 * given["advantages"]}))
        return found + 0 * given["log_pi"].sum()

    try:
        results = [(p, measure(without, names, p, source)) for p in problems]
    except LossError as error:
        return EqualGroups(
            Match("failed", exact=False), _weight(loss, names, problems[-1], source, reduction), str(error)
        )
    return EqualGroups(matched(results), _weight(loss, names, problems[-1], source, reduction))


def _weight(
    loss: Loss, names: Sequence[str], problem: Problem, source: str, reduction: AddingUp | None
) -> str:
    """Whether an answer of advantage zero counts in the mean that the other answers are divided by."""
    if reduction is None or reduction.batch not in ("mean", "token mean"):
        return "unknown"
    given = batch(problem, problem.policy.clone().requires_grad_(), source, names)
    kept = []
    for one, other in ((0, 1), (1, 2), (2, 0)):
        if problem.lengths[one] != problem.lengths[other]:
            continue
        pair = _one_zero(rows(given, [one, other], problem))
        try:
            alone = value_and_slope(loss, rows(given, [one], problem))[1][0]
            slope = value_and_slope(loss, pair)[1]
        except LossError:
            return "unknown"
        # A mean of two of one length halves what each has alone.
        width = min(len(alone), slope.shape[1])
        if float(alone.norm()) == 0:
            continue
        kept.append(bool(torch.allclose(slope[0, :width], alone[:width], rtol=1e-6, atol=1e-12)))
    return "unknown" if not kept else "left out" if all(kept) else "counted"


def _one_zero(given: Given) -> Given:
    """The same with the second answer's advantages zero."""
    advantages = given["advantages"].clone()
    advantages[1] = 0
    return {**given, "advantages": advantages}
