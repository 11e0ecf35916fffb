"""Adam's preconditioner as a metric, so that kernels describe steps of Adam rather than of plain gradients.

A step of Adam moves the weights by the learning rate times D g, with D = 1/(sqrt(v) + epsilon) and v the mean
square of each weight's gradients. One answer's step therefore moves another answer's log-probability by the
inner product of their gradients in the metric D. For a matrix, D is approximated by one number per row times
one per column, scaled so that the gradients keep their energy g D g. Gradients of a linear layer then never
have to be formed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dph_theory.stationary import group_weight
from dph_theory.support.files import replacing
from dph_theory.support.progress import Progress, silent

from .answers import Atom, Tokens, log_probs

ADAM, EUCLIDEAN = "adam", "euclidean"
METRICS = (ADAM, EUCLIDEAN)
_EPSILON = 1e-8
"""Adam's, as torch and Transformers have it by default."""
_LEAST, _REST = 1e-30, 1e-6
"""Smallest sum of squares; smallest share of all other answers, below which float32 rounds."""
GROUP = 16
"""Answers of a group."""


@dataclass(frozen=True, eq=False)
class Metric:
    """Square roots of the entries of D, and the length of a step of Adam along the gradient.

    `factors` has, by name of the weight, a tensor for the rows and one for the columns of a matrix, and one
    tensor of the weight's shape for any other weight.
    """

    factors: Mapping[str, tuple[Tensor, ...]]
    step: float
    """sqrt(g D g) of the gradients g, root mean square: in the plain metric |g|_1/|g|_2."""

    @classmethod
    def of_squares(cls, squares: Mapping[str, Tensor], matrices: Iterable[str], kind: str) -> "Metric":
        """Build the metric from the mean squared gradients of each weight, by name.

        `matrices` names the weights whose multipliers are factored into rows and columns; `kind` is one of
        METRICS. The Euclidean metric has no factors.
        """
        if kind == EUCLIDEAN:
            first = sum(float(square.sqrt().sum()) for square in squares.values())
            second = sum(float(square.sum()) for square in squares.values()) ** 0.5
            return cls({}, first / second if second else np.nan)
        factors, energy, sides = dict[str, tuple[Tensor, ...]](), 0.0, {*matrices}
        for name, square in squares.items():
            if name in sides:
                rows, columns = _sides(square)
                energy += float(rows @ square @ columns)
                factors[name] = (rows.sqrt(), columns.sqrt())
            else:
                multipliers = 1 / (square.sqrt() + _EPSILON)
                energy += float((square * multipliers).sum())
                factors[name] = (multipliers.sqrt(),)
        return cls(factors, energy**0.5)

    def save(self, path: Path) -> None:
        """Write the metric as one .npz file, atomically."""
        arrays: dict[str, Any] = {"step": self.step}
        for name, both in self.factors.items():
            arrays |= {f"{name} {side}": factor.cpu().numpy() for side, factor in enumerate(both)}
        with replacing(path) as part, part.open("wb") as out:
            np.savez(out, **arrays)

    @classmethod
    def load(cls, path: Path) -> "Metric":
        """Read the metric that `save` wrote."""
        factors: dict[str, tuple[Tensor, ...]] = {}
        with np.load(path) as stored:
            for key in stored.files:
                if key != "step":
                    name = key.rpartition(" ")[0]
                    factors[name] = (*factors.get(name, ()), torch.from_numpy(stored[key]))
            return cls(factors, float(stored["step"]))


def _sides(square: Tensor) -> tuple[Tensor, Tensor]:
    """Multipliers of a matrix's rows and columns that reproduce the metric's sums along each."""
    scaled = square / (square.sqrt() + _EPSILON)
    rows, columns = (scaled.sum(dim=side) / square.sum(dim=side).clamp_min(_LEAST) for side in (1, 0))
    mean = scaled.sum() / square.sum().clamp_min(_LEAST)
    return rows, columns / mean.clamp_min(_LEAST)


def measured_metric(
    model: Any, groups: Sequence[tuple[Tokens, Sequence[Atom]]], matrices: Iterable[str], kind: str,
    prompts: int, progress: Progress = silent,
) -> Metric:  # fmt: skip
    """Metric at the base for training by GRPO on that many prompts, from the answers of some (`groups`).

    v is the square of the expected gradient and, for kind ADAM, plus the mean square over the answers of a
    batch, so that rare answers count. `matrices` are the weights that are factored. Without a prompt that has
    both rewards the metric is Euclidean, and its step nan.
    """
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    means, squares = (
        {name: torch.zeros_like(w, dtype=torch.float32) for name, w in weights.items()} for _ in "12"
    )
    explored = 0
    for done, (prompt, atoms) in enumerate(groups):
        progress("the metric", done, len(groups))
        rate, scores = _rate_and_scores(model, prompt, atoms)
        if not 0 < rate < 1:
            continue
        explored += 1
        for score, share, correct in scores:
            advantage = float(group_weight(GROUP, rate)) * (correct - rate)
            slopes = torch.autograd.grad(score, [*weights.values()], retain_graph=True, allow_unused=True)
            for name, slope in zip(weights, slopes, strict=True):
                if slope is not None:
                    means[name].add_(slope, alpha=share * advantage)
                    squares[name].addcmul_(slope.float(), slope.float(), value=share * advantage**2)
    progress("the metric", len(groups), len(groups))
    if not explored:
        return Metric.of_squares({}, (), EUCLIDEAN)
    for name, square in squares.items():
        # Groups without both rewards count in the mean over prompts.
        square.mul_((kind == ADAM) / (prompts * GROUP * len(groups)))
        square.add_((means[name] / len(groups)).square_())
    return Metric.of_squares(squares, matrices, kind)


def _rate_and_scores(
    model: Any, prompt: Tokens, atoms: Sequence[Atom]
) -> tuple[float, Iterator[tuple[Tensor, float, bool]]]:
    """Pass rate of a prompt, and an iterator of (log-probability, share, is correct) for each answer.

    For listed answers all others count as one more: its gradient is minus theirs, weighed.
    """
    if atoms[0].share is not None:
        rate = sum(atom.share or 0.0 for atom in atoms if atom.correct)
        return rate, _sampled_scores(model, prompt, atoms)
    scores = torch.cat([*log_probs(model, prompt, [atom.answers[0] for atom in atoms])])
    shares = scores.detach().double().exp().tolist()
    rest = max(1 - sum(shares), _REST)
    of_the_rest = -(scores.detach().exp() * scores).sum() / rest
    correct = [atom.correct for atom in atoms]
    rate = sum(share for share, right in zip(shares, correct, strict=True) if right)
    return rate, zip([*scores, of_the_rest], [*shares, rest], [*correct, False], strict=True)


def _sampled_scores(
    model: Any, prompt: Tokens, atoms: Sequence[Atom]
) -> Iterator[tuple[Tensor, float, bool]]:
    answers = [(answer, atom) for atom in atoms for answer in atom.answers]
    scores = (score for part in log_probs(model, prompt, [answer for answer, _ in answers]) for score in part)
    for score, (_, atom) in zip(scores, answers, strict=True):
        yield score, (atom.share or 0.0) / len(atom.answers), atom.correct
