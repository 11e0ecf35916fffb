"""What Adam multiplies each weight's gradient by, so that kernels are of its steps and not of plain ones.

A step of Adam moves the weights by the rate times D g, D = 1/(sqrt(v) + epsilon), v the mean square of each
weight's gradients; so one answer's step moves another's log-probability by their gradients' product in the
metric D. Of a matrix D is the product of a number a row and a number a column, which have the energy that the
gradients have under D: gradients can then be folded without being made.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dph_theory.support.files import replacing

from .answers import Atom, Tokens, log_probs

ADAM, EUCLIDEAN = "adam", "euclidean"
METRICS = (ADAM, EUCLIDEAN)
_EPSILON = 1e-8
"""Adam's, as torch and Transformers have it by default."""
_LEAST, _REST = 1e-30, 1e-6
"""Of a sum of squares; and of the share of all other answers, as less is rounding of float32."""
GROUP, _BATCHES = 16, 4
"""Answers of a group, and batches whose squares are averaged."""


@dataclass(frozen=True, eq=False)
class Metric:
    """Square roots of the multipliers of D, and how far a step of Adam goes along the gradient in it.

    `factors`: of a matrix those of its rows and of its columns, of any other weight its own; by name.
    """

    factors: Mapping[str, tuple[Tensor, ...]]
    step: float
    """sqrt(g D g) of the gradients g, root mean square: in the plain metric |g|_1/|g|_2."""

    @classmethod
    def of_squares(cls, squares: Mapping[str, Tensor], matrices: Iterable[str], kind: str) -> "Metric":
        """That of the mean squares of each weight's gradients; the plain one has no factors."""
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
        """Write it as one .npz file, whole or not at all."""
        arrays = {f"{name} {side}": f for name, both in self.factors.items() for side, f in enumerate(both)}
        with replacing(path) as part, part.open("wb") as out:
            np.savez(out, step=self.step, **{name: factor.cpu().numpy() for name, factor in arrays.items()})

    @classmethod
    def load(cls, path: Path) -> "Metric":
        """What `save` wrote."""
        factors: dict[str, tuple[Tensor, ...]] = {}
        with np.load(path) as stored:
            for key in stored.files:
                if key != "step":
                    name = key.rpartition(" ")[0]
                    factors[name] = (*factors.get(name, ()), torch.from_numpy(stored[key]))
            return cls(factors, float(stored["step"]))


def _sides(square: Tensor) -> tuple[Tensor, Tensor]:
    """The multipliers of a matrix's rows and columns: v D summed along each is what D has in full."""
    scaled = square / (square.sqrt() + _EPSILON)
    rows, columns = (scaled.sum(dim=side) / square.sum(dim=side).clamp_min(_LEAST) for side in (1, 0))
    mean = scaled.sum() / square.sum().clamp_min(_LEAST)
    return rows, columns / mean.clamp_min(_LEAST)


@dataclass(frozen=True, eq=False)
class Group:
    """A trained prompt with the answers that a group is drawn from: their shares, which are correct."""

    prompt: Tokens
    atoms: Sequence[Atom]
    share: np.ndarray
    """Of the atoms, and where these are listed of all other answers together, which are incorrect."""

    @classmethod
    def of_atoms(cls, model: Any, prompt: Tokens, atoms: Sequence[Atom]) -> "Group":
        """The shares as they were sampled, or those that the model gives listed answers."""
        if atoms[0].share is not None:
            return cls(prompt, atoms, np.array([atom.share for atom in atoms], dtype=float))
        with torch.no_grad():
            scores = torch.cat([*log_probs(model, prompt, [atom.answers[0] for atom in atoms])])
        share = scores.double().exp().cpu().numpy()
        return cls(prompt, atoms, np.append(share, max(1 - share.sum(), _REST)))

    def coefficients(self, generator: np.random.Generator) -> np.ndarray:
        """Of a drawn group's GRPO loss in each atom's mean log-probability; zeros where rewards agree."""
        share, count = self.share / self.share.sum(), len(self.atoms)
        correct = np.zeros(len(share))
        correct[:count] = [atom.correct for atom in self.atoms]
        drawn = generator.multinomial(GROUP, share) / GROUP
        rate = drawn @ correct
        spread = np.sqrt(rate * (1 - rate) * GROUP / (GROUP - 1))
        asked = drawn * (correct - rate) / spread if spread > 0 else 0 * drawn
        # All others' gradient is minus that of the listed ones, weighed.
        return np.asarray(asked[:count] - (asked[count:].sum() * share[:count] / share[-1]))


def measured_metric(
    model: Any, groups: Sequence[Group], matrices: Iterable[str], kind: str, seed: int = 0
) -> Metric:
    """The metric at the base, from the gradients of a few drawn batches of trained prompts under GRPO.

    Where no group has both rewards there is no gradient: the plain metric, and a step that is not a number.
    """
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    generator, squares = np.random.default_rng(seed), dict[str, Tensor]()
    for _ in range(_BATCHES):
        for group in groups:
            coefficients = group.coefficients(generator) / len(groups)
            asked = [
                (answer, coefficient / len(atom.answers))
                for atom, coefficient in zip(group.atoms, coefficients, strict=True)
                for answer in atom.answers
                if coefficient
            ]
            start = 0
            for scores in log_probs(model, group.prompt, [answer for answer, _ in asked]) if asked else ():
                part = [weight for _, weight in asked[start : start + len(scores)]]
                (torch.tensor(part, device=scores.device) * scores).sum().backward()
                start += len(scores)
        for name, weight in weights.items():
            if weight.grad is not None:
                square = weight.grad.float().square() / _BATCHES
                squares[name] = squares[name].add_(square) if name in squares else square
        model.zero_grad(set_to_none=True)
    return Metric.of_squares(squares, matrices, kind if squares else EUCLIDEAN)
