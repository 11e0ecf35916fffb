"""How a loss adds up tokens and sequences, told by evaluating parts, doubles and paddings of one batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .exact import Given, Loss, LossError, batch, padded, sloped, value_and_slope
from .problems import Problem

EXACT, FLOAT32 = 1e-9, 1e-4
"""Relative agreement that counts: in float64, and for a loss that computes in float32."""


@dataclass(frozen=True)
class Reduction:
    """What the loss of a batch is made of.

    batch: "mean" or "sum" of its sequences' losses; "token mean", their mean weighted by their lengths;
    "coupled", none of these; "pairs only", if it fails on a single sequence; "unknown", if it fails on pairs.
    tokens: whether a sequence twice as long with the same tokens has the same loss ("mean"), twice the loss
    ("sum"), or neither ("other"). padding: "ignored", "divides by the padded length", "ignores its mask"
    (what stands at masked tokens matters), "other", or "no mask" if it takes none.
    """

    batch: str
    tokens: str
    padding: str

    @property
    def words(self) -> str:
        """Such as: token mean over the batch."""
        if self.padding == "divides by the padded length":
            return "sum over tokens, divided by the padded length"
        return {
            ("token mean", "mean"): "token mean over the batch",
            ("mean", "mean"): "mean over each sequence's tokens, then over sequences",
            ("mean", "sum"): "sum over tokens, mean over sequences",
            ("sum", "sum"): "sum over tokens and sequences",
            ("sum", "mean"): "mean over each sequence's tokens, sum over sequences",
            ("mean", "other"): "mean over sequences",
            ("sum", "other"): "sum over sequences",
        }.get((self.batch, self.tokens), f"{self.batch} over the batch")


def reduction_of(
    loss: Loss, names: Sequence[str], problem: Problem, source: str, *, single: bool = False
) -> Reduction:
    """The reduction of a loss, by its values and slopes on some batches of a problem.

    The problem's sequences should differ in length where the loss takes a mask; single: in float32.
    """
    given = batch(problem, problem.policy.clone().requires_grad_(), source, names)
    tolerance = FLOAT32 if single else EXACT
    return Reduction(
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
    twice = {name: torch.cat([tensor, tensor], dim=1) for name, tensor in once.items()}
    try:
        (value, slope), (doubled, slopes) = value_and_slope(loss, once), value_and_slope(loss, twice)
    except LossError:
        return "other"
    for kind, factor in (("mean", 1.0), ("sum", 2.0)):
        half = factor / 2 * torch.cat([slope, slope], dim=1)
        if _near(doubled, factor * value, tolerance) and _near_all(slopes, half, tolerance):
            return kind
    return "other"


def _padding(loss: Loss, given: Given, problem: Problem, tolerance: float) -> str:
    real = {name: tensor[:, : problem.length] for name, tensor in given.items()}
    try:
        (value, slope), (other, _) = (value_and_slope(loss, padded(real, 1, fill)) for fill in (-1.0, -2.5))
        wide, _ = value_and_slope(loss, padded(real, 3))
    except LossError:
        return "other"
    hidden = padded(real, 1)["mask"] == 0
    if not _near(value, other, tolerance) or bool((slope[hidden] != 0).any()):
        return "ignores its mask"
    if _near(value, wide, tolerance):
        return "ignored"
    ratio = (problem.length + 1) / (problem.length + 3)
    return "divides by the padded length" if _near(wide, ratio * value, tolerance) else "other"


def _near(found: float, wanted: float, tolerance: float) -> bool:
    return abs(found - wanted) <= tolerance * max(abs(found), abs(wanted), 1e-6)


def _near_all(found: Tensor, wanted: Tensor, tolerance: float) -> bool:
    return float((found - wanted).norm()) <= tolerance * max(float(wanted.norm()), float(found.norm()), 1e-6)
