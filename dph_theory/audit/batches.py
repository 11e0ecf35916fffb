"""How a loss adds up tokens and sequences, and what it descends by batch size where it couples them.

The first is told by evaluating parts, doubles and paddings of one batch; the second by enumerating batches of
one, two and three sequences.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from .exact import (
    Given,
    Loss,
    LossError,
    MeasuredLoss,
    Problem,
    batch,
    measure,
    padded,
    sloped,
    value_and_slope,
)
from .quantities import match_gradient_or_sum
from .report import AddingUp, Batches, Match

AGREES, AGREES32 = 1e-9, 1e-4
"""Relative agreement of two batches that counts: in float64, and for a loss that computes in float32."""
REPEATED = (2, 16)
"""How often a sequence's tokens are repeated: what stops counting after so many shows."""
SIZES = (1, 2, 3)
MOST_BATCHES = 70
"""Problems with more batches of a size than this are left out for that size."""
MOST_TERMS = 2
"""So many terms a sum may have: the problems that are left are too small to tell more."""


def reduction_of(
    loss: Loss, names: Sequence[str], problem: Problem, source: str, *, single: bool = False
) -> AddingUp:
    """The reduction of a loss, by its values and slopes on some batches of a problem.

    The problem's sequences should differ in length where the loss takes a mask; single: in float32.
    """
    given = batch(problem, problem.policy.clone().requires_grad_(), source, names)
    tolerance = AGREES32 if single else AGREES
    return AddingUp(
        _batch(loss, given, problem, tolerance),
        _tokens(loss, given, problem, tolerance),
        _padding(loss, given, problem, tolerance) if "mask" in names else "no mask",
    )


def _batch(loss: Loss, given: Given, problem: Problem, tolerance: float) -> str:
    count = len(problem.token)
    alike = [i for i in range(count) if "mask" in given or problem.lengths[i] == problem.lengths[0]]
    batches = [(alike[0], alike[-1]), (alike[-1], alike[0]), (alike[0], alike[1]), tuple(alike)]
    try:
        whole = [sloped(loss, given, chosen, problem) for chosen in batches]
    except LossError:
        return "unknown"
    try:
        parts = [sloped(loss, given, [i], problem) for i in range(count)]
    except LossError:
        return "pairs only"

    def holds(kind: str) -> bool:
        for (value, slope), chosen in zip(whole, batches, strict=True):
            weights = torch.ones(len(chosen), dtype=torch.float64)
            if kind != "sum":
                weights = problem.lengths[list(chosen)] if kind == "token mean" else weights
                weights = weights / weights.sum()
            total = float(sum(w * parts[i][0] for w, i in zip(weights, chosen, strict=True)))
            slopes = torch.cat([w * parts[i][1] for w, i in zip(weights, chosen, strict=True)])
            if not (_near(value, total, tolerance) and _near_all(slope, slopes, tolerance)):
                return False
        return True

    return next((kind for kind in ("mean", "sum", "token mean") if holds(kind)), "coupled")


def _tokens(loss: Loss, given: Given, problem: Problem, tolerance: float) -> str:
    longest = int(problem.lengths.argmax())
    width = int(problem.lengths[longest])
    once = {name: tensor[longest : longest + 1, :width] for name, tensor in given.items()}
    kinds = {"mean", "sum"}
    try:
        value, slope = value_and_slope(loss, once)
        for times in REPEATED:
            longer = {name: torch.cat([tensor] * times, dim=1) for name, tensor in once.items()}
            whole, slopes = value_and_slope(loss, longer)
            for kind, factor in (("mean", 1.0), ("sum", float(times))):
                part = factor / times * torch.cat([slope] * times, dim=1)
                if not (_near(whole, factor * value, tolerance) and _near_all(slopes, part, tolerance)):
                    kinds.discard(kind)
    except LossError:
        return "other"
    return kinds.pop() if len(kinds) == 1 else "other"


def _padding(loss: Loss, given: Given, problem: Problem, tolerance: float) -> str:
    real = {name: tensor[:, : problem.length] for name, tensor in given.items()}
    try:
        (value, slope), (other, _) = (value_and_slope(loss, padded(real, 1, fill)) for fill in (-1.0, -2.5))
        wide, _ = value_and_slope(loss, padded(real, 3))
        holed = [value_and_slope(loss, _holed(real, fill)) for fill in (-1.0, -2.5)]
    except LossError:
        return "other"
    hidden = padded(real, 1)["mask"] == 0
    if not _near(value, other, tolerance) or bool((slope[hidden] != 0).any()):
        return "ignores its mask"
    seen = bool((holed[0][1][:, 1] != 0).any()) or not _near(holed[0][0], holed[1][0], tolerance)
    if seen or (_near(value, wide, tolerance) and not _near(value, holed[0][0], tolerance)):
        return "fills holes"
    if _near(value, wide, tolerance):
        return "ignored"
    ratio = (problem.length + 1) / (problem.length + 3)
    return "divides by the padded length" if _near(wide, ratio * value, tolerance) else "other"


def _holed(given: Given, fill: float) -> Given:
    """The same, but what was padded behind the answers stands after their first token: a tool's tokens."""
    wide = padded(given, 1, fill)
    width = wide["mask"].shape[1]
    order = [0, width - 1, *range(1, width - 1)]
    return {name: tensor[:, order] for name, tensor in wide.items()}


def _near(found: float, wanted: float, tolerance: float) -> bool:
    return abs(found - wanted) <= tolerance * max(abs(found), abs(wanted), 1e-6)


def _near_all(found: Tensor, wanted: Tensor, tolerance: float) -> bool:
    return float((found - wanted).norm()) <= tolerance * max(float(wanted.norm()), float(found.norm()), 1e-6)


def enumerate_batches(
    loss: Loss, names: tuple[str, ...], problems: Sequence[Problem], source: str, *, single: bool = False
) -> tuple[Batches, list[tuple[Problem, MeasuredLoss]]]:
    """What the loss descends on single outcomes at each batch size, and the problems measured at two.

    Raises LossError if it can be evaluated at no size.
    """
    found: dict[int, Match] = {}
    pairs: list[tuple[Problem, MeasuredLoss]] = []
    why = ""
    for size in SIZES:
        small = [p for p in problems if len(p.token) ** size <= MOST_BATCHES]
        try:
            measured = [(p, measure(loss, names, p, source, size=size)) for p in small]
        except LossError as error:
            why = why or str(error)
            continue
        pairs = measured if size == 2 else pairs
        outcomes = [(p, m) for p, m in measured if p.length == 1]
        on, of = [p for p, _ in outcomes], [m for _, m in outcomes]
        found[size] = match_gradient_or_sum(of, on, source, single=single, most_terms=MOST_TERMS)
    if 2 not in found:
        raise LossError(f"it couples the sequences of a batch, and fails on pairs of them: {why}")
    return Batches(tuple(found.items())), pairs
